import type { PreviewTarget } from './preview-address.ts';

/** The cookie of those who came with a link or a token. Ours: it never passes, in neither direction. */
export const passCookie = 'caisson-preview';

/**
 * In the path form the cookies of all sandboxes, and of every other program on the same host name, are in one jar. A
 * cookie that a port sets gets the port's own name in front, and only what has it is given back, without it: so neither
 * a sandbox nor the rest of the machine shows its cookies to another, whatever paths a browser believes in.
 */
export function cookieMark({ sandbox, port, prefix }: PreviewTarget): string {
  return prefix === '' ? '' : `${sandbox}-${port}.`;
}

/** The header `Cookie` as the port gets it; empty when nothing of it is for the port. */
export function cookiesForPort(header: string, mark: string): string {
  if (mark === '' && !header.includes(passCookie)) return header;
  const kept: string[] = [];
  for (const part of header.split(';')) {
    const pair = part.trim();
    if (pair === '' || nameOf(pair).toLowerCase() === passCookie) continue;
    if (mark === '') kept.push(pair);
    else if (pair.startsWith(mark)) kept.push(pair.slice(mark.length));
  }
  return kept.join('; ');
}

/** Every value of our own cookie; pages of neighbours can add some, so there may be several, and one may be right. */
export function passesIn(header: string | undefined, most = 4): string[] {
  if (header === undefined || !header.includes(passCookie)) return [];
  const found: string[] = [];
  for (const part of header.split(';')) {
    const pair = part.trim();
    if (pair.startsWith(`${passCookie}=`) && found.length < most) found.push(pair.slice(passCookie.length + 1));
  }
  return found;
}

/** One `Set-Cookie` of a port as the browser gets it, or undefined when it may not be set. */
export function setCookieFromPort(value: string, target: PreviewTarget): string | undefined {
  const mark = cookieMark(target);
  const [pair = '', ...attributes] = value.split(';');
  const name = nameOf(pair.trim());
  // A cookie without a name is sent back as its value alone, which may look like any other cookie.
  if (name === '' || !pair.includes('=')) return undefined;
  const plain = name.toLowerCase();
  if (plain === passCookie || plain === `__host-${passCookie}` || plain === `__secure-${passCookie}`) return undefined;
  const kept = attributes.flatMap((attribute) => {
    const text = attribute.trim();
    const key = nameOf(text).toLowerCase();
    if (text === '' || key === 'domain') return [];
    if (key !== 'path' || mark === '') return [text];
    const path = text.slice(text.indexOf('=') + 1).trim();
    return [`Path=${target.prefix}${path.startsWith('/') ? path : '/'}`];
  });
  return [`${mark}${pair.trim()}`, ...kept].join('; ');
}

function nameOf(pair: string): string {
  const at = pair.indexOf('=');
  return (at === -1 ? pair : pair.slice(0, at)).trim();
}
