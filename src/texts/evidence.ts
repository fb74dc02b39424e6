/** What a verdict rests on, as a sentence. */
import { evidenceOf, type Finding } from '../service/audit/check.ts';
import { sentenceIn } from '../service/audit/sentences.ts';
import { evidenceEn, type LabEvidence } from './evidence-en.ts';
import { evidenceZh } from './evidence-zh.ts';
import type { Bilingual, Language } from './texts.ts';

const sentences = { en: evidenceEn, zh: evidenceZh } as const;

/** One after the other, where there are several. */
export const evidenceText = (language: Language, ...found: readonly LabEvidence[]): string =>
  found.map((each) => sentenceIn(sentences[language], each)).join(language === 'zh' ? '；' : '; ');

/** `no-oversell: 2 orders for 1 in stock` */
export const checkTexts = (check: string, ...found: readonly LabEvidence[]): Bilingual => ({
  en: `${check}: ${evidenceText('en', ...found)}`,
  zh: `${check}：${evidenceText('zh', ...found)}`,
});

export const findingTexts = (finding: Finding): Bilingual =>
  checkTexts(finding.check, ...evidenceOf(finding));

export const evidenceTexts = (...found: readonly LabEvidence[]): Bilingual => ({
  en: evidenceText('en', ...found),
  zh: evidenceText('zh', ...found),
});

/** In a file or an event, the evidence is a sentence in each language. */
export interface RecordedEvidence {
  readonly evidence: string;
  /** Missing in older files. */
  readonly evidenceZh?: string;
}

export const recordedEvidence = (found: readonly LabEvidence[]) => ({
  evidence: evidenceText('en', ...found),
  evidenceZh: evidenceText('zh', ...found),
});
