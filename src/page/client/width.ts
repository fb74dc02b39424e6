/** The width of a box: what is drawn in it is not scaled. */
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';

export function useWidth(box: { readonly current: HTMLDivElement | null }): number {
  const width = useRef(signal(600)).current;
  useLayoutEffect(() => {
    const { current } = box;
    if (!current) return;
    const measure = () => {
      width.value = current.clientWidth;
    };
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    measure();
    return () => observer.disconnect();
  }, [box, width]);
  return width.value;
}
