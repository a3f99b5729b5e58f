import { posix } from 'node:path';
import type { GrepMatch } from '@caisson/guest';
import { BoundedText } from './bounded-text.ts';
import { inWorkspace, type ToolContext, type ToolResult, type ToolWorks, text } from './tool.ts';

export const searchTools: ToolWorks<'grep' | 'glob'> = {
  grep: async ({ pattern, path, limit, ...options }, context) => {
    const { guest, user, signal } = context;
    const found = guest.files.grep(rootOf(path, context), pattern, { ...options, user, signal, maxMatches: limit });
    const output = new BoundedText(context.maxBytes);
    for (;;) {
      const { done, value } = await found.next();
      if (done) return lines(output, value.truncated, 'nothing matches');
      output.push(Buffer.from(shownMatch(value, shownPath(path, value.path), options.contextLines > 0)));
      // More would not be seen.
      if (output.isTruncated) {
        await found.return(undefined as never);
        return lines(output, true, '');
      }
    }
  },

  glob: async ({ pattern, path, limit, ...options }, context) => {
    const { guest, user, signal } = context;
    const root = rootOf(path, context);
    const { entries, truncated } = await guest.files.glob(root, pattern, {
      ...options,
      user,
      signal,
      maxEntries: limit,
    });
    const output = new BoundedText(context.maxBytes);
    for (const entry of entries) {
      const slash = entry.kind === 'directory' ? '/' : '';
      output.push(Buffer.from(`${shownPath(path, entry.path)}${slash}\n`));
    }
    return lines(output, truncated, 'nothing matches');
  },
};

function rootOf(path: string | undefined, context: ToolContext): string {
  return inWorkspace(context, path ?? '.');
}

/** As it can be given to the next tool. Of a search in one file the guest tells no path. */
function shownPath(path: string | undefined, found: string): string {
  if (path === undefined) return found;
  return found === '' || found === '.' ? path : posix.join(path, found);
}

/** As grep writes them: a colon after the number of a line that matches, a hyphen after that of one around it. */
function shownMatch({ line, text: matched, before, after }: GrepMatch, path: string, isApart: boolean): string {
  const around = (texts: readonly string[], first: number) =>
    texts.map((shown, at) => `${path}-${first + at}-${shown}\n`).join('');
  const shown = `${around(before, line - before.length)}${path}:${line}:${matched}\n${around(after, line + 1)}`;
  return isApart ? `${shown}--\n` : shown;
}

function lines(output: BoundedText, truncated: boolean, whenEmpty: string): ToolResult {
  const content = output.toString();
  return { content: [text(content === '' ? whenEmpty : content)], truncated: truncated || output.isTruncated };
}
