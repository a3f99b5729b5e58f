import { CaissonError, type Route } from '@caisson/contract';

export type QueryValue = string | number | boolean | undefined | readonly (string | number | boolean)[];

/** The address of one call. Whether an id is one is the server's to say; here it only has to stay one segment. */
export function requestUrl(
  baseUrl: string,
  route: Pick<Route, 'path'>,
  params: Readonly<Record<string, unknown>>,
  query: Readonly<Record<string, QueryValue>>,
): string {
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => segment(name, params[name]));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const entry of Array.isArray(value) ? value : [value]) search.append(name, String(entry));
  }
  const text = search.toString();
  return `${baseUrl}${path}${text === '' ? '' : `?${text}`}`;
}

/** `.` and `..` survive every encoding and would make another route of this one. */
function segment(name: string, value: unknown): string {
  if (typeof value === 'string' && !['', '.', '..'].includes(value) && !/\p{Surrogate}/u.test(value)) {
    return encodeURIComponent(value);
  }
  const message = `\`${name}\` must be given`;
  throw new CaissonError('request_invalid', message, { problems: [{ path: name, code: 'required', message }] });
}
