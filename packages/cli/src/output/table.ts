import { printable } from './printable.ts';

export interface Cell {
  readonly text: string;
  /** Adds colours after the width is known. */
  readonly paint?: (text: string) => string;
}

/** Columns as wide as their widest cell, two spaces between. Nothing is cut: ids are there to be copied. */
export function table(header: readonly string[], rows: readonly (readonly (string | Cell)[])[]): string {
  const cells = rows.map((row) => row.map(asCell));
  const widths = header.map((title, column) =>
    Math.max(width(title), ...cells.map((row) => width(row[column]?.text ?? ''))),
  );
  const lines = [header.map((title) => asCell(title)), ...cells].map((row) =>
    row
      .map(({ text, paint }, column) => {
        const last = column === row.length - 1;
        const shown = paint ? paint(text) : text;
        return last ? shown : `${shown}${' '.repeat((widths[column] ?? 0) - width(text))}`;
      })
      .join('  ')
      .trimEnd(),
  );
  return lines.join('\n');
}

/** Names and values, one pair a line. */
export function pairs(entries: readonly (readonly [string, string | Cell])[]): string {
  const widest = Math.max(0, ...entries.map(([name]) => name.length));
  return entries
    .map(([name, value]) => {
      const { text, paint } = asCell(value);
      return `${name.padEnd(widest)}  ${paint ? paint(text) : text}`.trimEnd();
    })
    .join('\n');
}

function asCell(cell: string | Cell): Cell {
  if (typeof cell === 'string') return { text: printable(cell) };
  return { ...cell, text: printable(cell.text) };
}

/** In characters; wide ones of East Asia count one, which only shifts a column. */
function width(text: string): number {
  return [...text].length;
}
