import type { Rejection, RouteCandidate, RouteDecision } from '@caisson/contract';

/** The decision when it turns out that some of those who could serve cannot. */
export function without(
  decision: RouteDecision,
  isOut: (candidate: RouteCandidate) => boolean,
  rejection: Rejection,
): RouteDecision {
  const ranked = decision.candidates.filter(({ rank }) => rank !== null);
  const staying = ranked.filter((candidate) => !isOut(candidate));
  const leaving = ranked.filter(isOut);
  const [best] = staying;
  return {
    ...decision,
    chosen: best ? { driver: best.driver, host: best.host } : null,
    candidates: [
      ...staying.map((candidate, index) => ({ ...candidate, rank: index + 1 })),
      ...leaving.map((candidate) => ({ ...candidate, rank: null, rejections: [...candidate.rejections, rejection] })),
      ...decision.candidates.filter(({ rank }) => rank === null),
    ],
  };
}
