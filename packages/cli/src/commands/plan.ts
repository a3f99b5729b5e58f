import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { collectKeyValue } from '../input/key-value.ts';

interface PlanOptions extends ServerChoice {
  readonly profile?: string;
  readonly input?: Record<string, string>;
  readonly explain?: true;
  readonly containerfile?: true;
}

export function addPlan(parent: Command, context: CommandContext): void {
  withServer(parent.command('plan').description('what would be built for a spec; nothing is built'))
    .argument('[file]', 'workspace spec, YAML or JSON; - is the standard input')
    .option('-p, --profile <name>', 'profile, as name or name@version')
    .option('-i, --input <name=value>', 'input of the profile; may be repeated', collectKeyValue)
    .option('--explain', 'what will be done, and why, for people')
    .option('--containerfile', 'the same as a Containerfile')
    .action(async (file: string | undefined, options: PlanOptions) => {
      const { readSpecObject } = await import('../input/read-spec.ts');
      const spec = file === undefined ? undefined : await readSpecObject(file, context.invocation);
      const caisson = await context.connect(options);
      const proposed = await caisson.plan({ spec, profile: options.profile, inputs: options.input });
      const { containerfileText, planText } = await import('../output/plan-text.ts');
      context.screen.result(proposed, () => {
        if (options.containerfile) return containerfileText(proposed);
        return options.explain ? planText(proposed) : JSON.stringify(proposed.plan, null, 2);
      });
    });
}
