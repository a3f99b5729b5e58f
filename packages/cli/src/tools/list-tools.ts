import type { ToolDescription } from '@caisson/contract';
import type { CommandContext } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { table } from '../output/table.ts';

export async function listTools(options: ServerChoice, { connect, screen }: CommandContext): Promise<void> {
  const items = await (await connect(options)).tools();
  screen.result({ items }, () =>
    table(
      ['TOOL', 'TIER', 'TAKES', 'SUMMARY'],
      items.map((item) => [item.name, String(item.tier), takes(item), item.summary]),
    ),
  );
}

/** What must be given as it is, what may be left out in brackets. */
function takes({ params }: ToolDescription): string {
  const { properties = {}, required = [] } = params as { properties?: object; required?: string[] };
  return Object.keys(properties)
    .map((name) => (required.includes(name) ? name : `[${name}]`))
    .join(' ');
}
