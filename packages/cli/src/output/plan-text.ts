import { CaissonError, type ProposedPlan } from '@caisson/contract';
import { printable } from './printable.ts';
import { pairs } from './table.ts';

/** What will be done, by topic, each with its reason. */
export function planText(proposed: ProposedPlan): string {
  const { planDigest, blueprintDigest, unresolved, explanation, notices } = proposed;
  const head = pairs([
    ['plan', planDigest ?? `not known before ${unresolved.join(', ')} is`],
    ['blueprint', blueprintDigest],
  ]);
  const topics = [...new Set(explanation.map(({ topic }) => topic))];
  const parts = topics.map((topic) =>
    [
      topic,
      ...explanation
        .filter((line) => line.topic === topic)
        .flatMap(({ what, why }) => [`  ${printable(what)}`, `      because ${printable(why)}`]),
    ].join('\n'),
  );
  return [head, ...parts, ...notices.map((notice) => `note: ${printable(notice)}`)].join('\n\n');
}

export function containerfileText({ containerfile, unresolved }: ProposedPlan): string {
  if (containerfile !== null) return containerfile.trimEnd();
  throw new CaissonError('build_failed', `there is no Containerfile before ${unresolved.join(', ')} is known`, {
    hint: '`caisson plan --explain` says what is open and why.',
  });
}
