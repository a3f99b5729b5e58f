import type { WorkspaceBlueprint } from '../blueprint.ts';
import { Fields, shape } from './fields.ts';
import { maxLabels } from './limits.ts';
import { contextLinkRule, labelKeyRule, labelValueRule } from './names.ts';
import type { Problems } from './problems.ts';
import { readTextMap, type TextMapRule } from './text-map.ts';

type Context = WorkspaceBlueprint['context'];

const contextShape = shape('`context`', 'labels', 'issue', 'pullRequest', 'requestedBy');
const links = ['issue', 'pullRequest', 'requestedBy'] as const;

export const labelsRule: TextMapRule = { key: labelKeyRule, value: labelValueRule, maxEntries: maxLabels };

export function readContext(value: unknown, problems: Problems): Context {
  const fields = Fields.of(value, 'context', contextShape, problems);
  const context: Context = { labels: readTextMap(fields?.raw('labels'), 'context.labels', labelsRule, problems) };
  for (const link of links) {
    const text = fields?.text(link, contextLinkRule);
    if (text !== undefined) context[link] = text;
  }
  return context;
}
