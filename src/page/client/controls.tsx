/** What is operated by hand in several views. */
import type { ComponentProps } from 'preact';

interface ButtonProps extends ComponentProps<'button'> {
  /** The key that does the same. */
  readonly shortcut?: string;
}

/** It sends no form. */
export const Button = ({ shortcut, children, ...props }: ButtonProps) => (
  <button type="button" {...props}>
    {children}
    {shortcut && <kbd>{shortcut}</kbd>}
  </button>
);

interface SelectProps {
  /** Beside it; without one it has an `aria-label`. */
  readonly name?: string;
  readonly class?: string;
  readonly value: string;
  /** The value, and its name. */
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly onChosen: (value: string) => void;
  readonly 'aria-label'?: string;
}

export const Select = ({ name, class: own, options, onChosen, ...props }: SelectProps) => (
  <label class={own}>
    {name}{' '}
    <select {...props} onChange={({ currentTarget }) => onChosen(currentTarget.value)}>
      {options.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

const steps: Readonly<Record<string, readonly [down: number, right: number]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
};

/** The arrow keys walk a picture. @returns undefined for another key */
export const stepOf = ({ key }: KeyboardEvent) => steps[key];
