import { type Backend, CaissonError, isErrorCode, type RouteDecision } from '@caisson/contract';

/** The backend that was chosen, or the error that says why there is none: each candidate with its reasons. */
export function requireChosen(
  decision: RouteDecision,
  wanted: { readonly driver?: string; readonly host?: string | undefined },
): Backend {
  if (decision.chosen) return decision.chosen;
  const { candidates } = decision;
  const hosts = [...new Set(candidates.map(({ host }) => host))];
  if (wanted.host !== undefined && !hosts.includes(wanted.host)) {
    throw new CaissonError('host_not_found', `there is no host ${wanted.host}`, { context: { known: hosts } });
  }
  const asked = candidates.filter(({ rejections }) => rejections.every(({ code }) => code !== 'not_asked_for'));
  if (asked.length === 0 && wanted.driver !== undefined && !candidates.some(({ driver }) => driver === wanted.driver)) {
    const known = candidates.map(({ driver }) => driver);
    throw new CaissonError('driver_not_found', `there is no driver ${wanted.driver}`, { context: { known } });
  }
  const reasons = candidates.flatMap(({ driver, host, rejections }) =>
    rejections.map(({ code, path, message }) => ({ driver, host, reason: code, path, message })),
  );
  const [only] = asked;
  const [first] = only?.rejections ?? [];
  if (only && first && asked.length === 1) {
    const problems = only.rejections.map(({ code, path, message }) => ({ path: path ?? '$', code, message }));
    const code = isErrorCode(first.code) ? first.code : 'no_route';
    // The faults of a request are told as such; of a backend that cannot serve at the moment there are none.
    const isOfRequest = only.rejections.some(({ path }) => path !== null);
    const context = { driver: only.driver, host: only.host, ...(candidates.length > 1 ? { candidates: reasons } : {}) };
    throw new CaissonError(code, first.message, { ...(isOfRequest ? { problems } : {}), context });
  }
  throw new CaissonError('no_route', 'no backend can serve this', { context: { candidates: reasons } });
}

/** Where the chosen one gives less than was preferred. */
export function routeNotices(decision: RouteDecision, preferred: string | undefined): string[] {
  const { chosen, candidates } = decision;
  if (!chosen || preferred === undefined || chosen.driver === preferred) return [];
  const passed = candidates.filter(({ driver }) => driver === preferred);
  if (passed.length === 0) return [`The driver ${preferred} is not installed here; another one was taken.`];
  const why = passed[0]?.rejections[0]?.message ?? 'it was not the best';
  return [`The driver ${preferred} was passed over: ${why}.`];
}
