import { csvLine } from './csv.ts';
import { printable } from './printable.ts';
import type { Screen } from './screen.ts';

export interface ExportForm {
  readonly csv?: boolean | undefined;
}

/** A log of any length, a line at a time: for people, as JSON, or as CSV with a header. */
export async function exportLines<T extends object>(
  screen: Screen,
  items: AsyncIterable<T>,
  columns: readonly string[],
  { csv = false }: ExportForm,
  text: (item: T) => string,
): Promise<void> {
  if (csv && !screen.wantsJson) screen.print(csvLine(columns));
  for await (const item of items) {
    if (screen.wantsJson) screen.print(JSON.stringify(item));
    else if (csv) screen.print(csvLine(columns.map((name) => (item as Record<string, never>)[name] ?? null)));
    else screen.print(printable(text(item)));
  }
}
