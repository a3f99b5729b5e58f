import type { Fault } from './problems.ts';
import { quote } from './quote.ts';
import { type TextRule, utf8Bytes } from './text.ts';

/** The kernel's own trees: mounting over them breaks the sandbox or opens it. */
const kernelTrees = ['/proc', '/sys', '/dev'];

/** Half of Linux's PATH_MAX, so that files below the path still have one. */
const maxPathBytes = 2_048;

/** Leaves room for the repository's path in front, so that the absolute form stays within the limit above. */
const maxRelativeBytes = 1_536;

/** Where an input is mounted: a place inside the sandbox that is ours to create. */
export const mountPathRule: TextRule = {
  noun: 'A path',
  maxBytes: maxPathBytes,
  check: faultOfMountPath,
  canonical: collapse,
};

/** The workspace root likewise, but shorter: it is repeated in the working directory of every step. */
export const workspaceRootRule: TextRule = { ...mountPathRule, maxBytes: 255 };

/** A working directory as a spec gives it: absolute, or relative to the repository. */
export const workingDirectoryRule: TextRule = {
  noun: 'A working directory',
  maxBytes: maxPathBytes,
  check: faultOfDirectory,
};

/** The same in a blueprint: always absolute. */
export const absoluteDirectoryRule: TextRule = {
  noun: 'A working directory',
  maxBytes: maxPathBytes,
  check: (text) => (text.startsWith('/') ? faultOfDirectory(text) : notAbsolute(text)),
  canonical: collapse,
};

/** A path on the machine that sends the spec. It is read there, so it may be relative and may climb. */
export const localPathRule: TextRule = {
  noun: 'A path',
  maxBytes: maxPathBytes,
  check: (text) =>
    text.startsWith('-')
      ? { code: 'invalid_value', message: 'A path must not begin with `-`.', hint: `Write ${quote(`./${text}`)}.` }
      : undefined,
};

/** The absolute form of a checked working directory. */
export function resolveDirectory(repositoryDirectory: string, directory: string): string {
  return collapse(directory.startsWith('/') ? directory : `${repositoryDirectory}/${directory}`);
}

/** Without empty and `.` segments, and without a slash at the end. Only for absolute paths free of `..`. */
function collapse(path: string): string {
  if (!/\/\/|\/\.(?:\/|$)|.\/$/.test(path)) return path;
  return `/${path
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.')
    .join('/')}`;
}

function faultOfMountPath(text: string): Fault | undefined {
  if (!text.startsWith('/')) return notAbsolute(text);
  if (climbs(text)) return climbing();
  const path = collapse(text);
  if (path === '/') return { code: 'invalid_value', message: 'The path must not be the root directory.' };
  const tree = kernelTrees.find((root) => path === root || path.startsWith(`${root}/`));
  return tree === undefined ? undefined : { code: 'invalid_value', message: `The path must not lie in \`${tree}\`.` };
}

function faultOfDirectory(text: string): Fault | undefined {
  if (!text.startsWith('/') && utf8Bytes(text) > maxRelativeBytes) {
    return { code: 'too_long', message: `A relative path may be at most ${maxRelativeBytes} bytes long.` };
  }
  if (climbs(text)) return climbing();
  if (/^~(?:\/|$)/.test(text)) {
    return { code: 'invalid_value', message: '`~` is not expanded here.', hint: 'Write the absolute path.' };
  }
  return undefined;
}

function climbs(path: string): boolean {
  return /(?:^|\/)\.\.(?:\/|$)/.test(path);
}

function climbing(): Fault {
  return { code: 'invalid_value', message: 'The path must not contain `..`.' };
}

function notAbsolute(text: string): Fault {
  return { code: 'invalid_value', message: `${quote(text)} is not an absolute path.`, hint: 'Begin it with `/`.' };
}
