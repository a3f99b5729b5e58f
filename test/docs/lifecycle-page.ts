import {
  type Action,
  actionNames,
  actions,
  canBegin,
  refusal,
  sandboxStates,
  stateMeanings,
  useNames,
  uses,
} from '@caisson/contract';

/** docs/lifecycle.md, from the tables of states, actions and uses, and from nothing else. */
export function renderLifecyclePage(): string {
  return [
    '# The life of a sandbox',
    '',
    'A sandbox rests in a stable state; an action takes it through transient ones to another. Every step is one',
    'compare-and-set together with its event. This page is generated from `packages/contract/src/lifecycle/` by',
    '`npm run docs`; a test fails when they differ.',
    '',
    '```mermaid',
    'stateDiagram-v2',
    ...diagram(),
    '```',
    '',
    '`destroy` begins in every state but `destroying` and `destroyed`; the diagram leaves those arrows out.',
    '',
    '## States',
    '',
    '| state | means | refuses what it does not allow with |',
    '| --- | --- | --- |',
    ...sandboxStates.map((state) => `| \`${state}\` | ${stateMeanings[state]} | \`${refusal(state)}\` |`),
    '',
    '## Actions',
    '',
    '| action | from | via | to | when it fails | does |',
    '| --- | --- | --- | --- | --- | --- |',
    ...actionNames.map((name) => {
      const action: Action = actions[name];
      const from = name === 'destroy' ? 'every state but `destroying`, `destroyed`' : code(action.from);
      return `| \`${name}\` | ${from} | ${code(action.via) || 'at once'} | \`${action.to}\` | \`${action.onFailure}\` | ${action.summary} |`;
    }),
    '',
    '`create` and `lose` are begun by Caisson alone. A leading `via` state may be left out: without a build, `create`',
    'enters `provisioning` at once. An action that `destroy` interrupts ends with the error `action_cancelled`.',
    '',
    '## What each state allows',
    '',
    `| state | ${actionNames.join(' | ')} | ${useNames.map((name) => `_${name}_`).join(' | ')} |`,
    `| --- |${' --- |'.repeat(actionNames.length + useNames.length)}`,
    ...sandboxStates.map((state) => {
      const begins = actionNames.map((name) => (canBegin(name, state) ? '✓' : ''));
      const used = useNames.map((name) => ((uses[name].in as readonly string[]).includes(state) ? '✓' : ''));
      return `| \`${state}\` | ${[...begins, ...used].join(' | ')} |`;
    }),
    '',
    'The columns in italics are uses, which do not change the state:',
    '',
    ...useNames.map((name) => `- _${name}_: ${uses[name].summary}`),
    '',
  ].join('\n');
}

function code(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function diagram(): string[] {
  const lines = ['  [*] --> requested'];
  for (const name of actionNames) {
    const action: Action = actions[name];
    const [first, ...rest] = action.via;
    if (name === 'destroy') {
      lines.push('  destroying --> destroyed', '  destroying --> failed: fails');
      continue;
    }
    for (const from of action.from) lines.push(`  ${from} --> ${first ?? action.to}: ${name}`);
    if (first === undefined) continue;
    let last = first;
    for (const next of rest) {
      lines.push(`  ${last} --> ${next}`);
      last = next;
    }
    lines.push(`  ${last} --> ${action.to}`);
    for (const via of action.via) lines.push(`  ${via} --> ${action.onFailure}: fails`);
  }
  lines.push('  destroyed --> [*]');
  return [...new Set(lines)];
}
