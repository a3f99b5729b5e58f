import { CaissonError } from '@caisson/contract';

/** One side of a copy. */
export type Place =
  | { readonly kind: 'sandbox'; readonly sandbox: string; readonly path: string }
  | { readonly kind: 'local'; readonly path: string }
  | { readonly kind: 'stream' };

export type Outside = Exclude<Place, { readonly kind: 'sandbox' }>;

/**
 * `web:/a` is in a sandbox, `-` is the standard input or output, everything else is a path here. A path here that has a
 * colon is written with its folder: `./a:b`.
 */
export function parsePlace(text: string): Place {
  if (text === '-') return { kind: 'stream' };
  const [, sandbox, path] = /^([A-Za-z0-9-]+):(.*)$/s.exec(text) ?? [];
  if (sandbox === undefined || path === undefined) return { kind: 'local', path: text };
  if (path === '') {
    throw new CaissonError('request_invalid', `${text} has no path`, { hint: 'Write it as <sandbox>:<path>.' });
  }
  return { kind: 'sandbox', sandbox, path };
}

/** The last part of a path; nothing for `/`, `.` and `..`, which have no name of their own. */
export function baseName(path: string): string | undefined {
  const name = path.replace(/\/+$/, '').split('/').at(-1);
  return name === undefined || name === '' || name === '.' || name === '..' ? undefined : name;
}

/** Whether what is inside is meant, and not the folder itself: `a/.`. */
export const meansContent = (path: string): boolean => /(^|\/)\.\/*$/.test(path);
export const meansFolder = (path: string): boolean => path.endsWith('/');

export const inFolder = (folder: string, name: string): string => `${folder.replace(/\/+$/, '')}/${name}`;
