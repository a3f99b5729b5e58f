import { CaissonError, presetNames } from '@caisson/contract';
import type { Command } from 'commander';
import { type CommandContext, withJson } from '../command-context.ts';

interface SpecOptions {
  /** commander's form of `--no-source`. */
  readonly source: boolean;
}

/** Both work without a server: what a spec means does not depend on where it runs. */
export function addSpec(parent: Command, context: CommandContext): void {
  const spec = parent.command('spec').description('check and normalize workspace specs, without a server');
  const file = ['<file>', 'workspace spec, YAML or JSON; - is the standard input'] as const;
  const noSource = ['--no-source', 'it may be without a repository, as under a profile that needs none'] as const;

  withJson(spec.command('check').description('every problem of a spec, with its place'))
    .argument(...file)
    .option(...noSource)
    .action(async (path: string, options: SpecOptions) => {
      const { digest } = await normalize(path, options, context);
      context.screen.result({ valid: true, digest }, () => `valid: ${digest}`);
    });

  withJson(spec.command('normalize').description('the blueprint that a spec stands for, as JSON'))
    .argument(...file)
    .option(...noSource)
    .action(async (path: string, options: SpecOptions) => {
      const { blueprint, digest } = await normalize(path, options, context);
      context.screen.result({ blueprint, digest }, () => JSON.stringify(blueprint, null, 2));
    });
}

async function normalize(path: string, { source }: SpecOptions, { invocation }: CommandContext) {
  const { readSpec } = await import('../input/read-spec.ts');
  const { normalizeUserWorkspaceSpec, SpecError } = await import('@caisson/workspace-composition');
  const { blueprintDigest } = await import('@caisson/workspace-composition/digest');
  const written = await readSpec(path, invocation);
  try {
    const blueprint = normalizeUserWorkspaceSpec(written, { requireSource: source, presets: presetNames });
    return { blueprint, digest: blueprintDigest(blueprint) };
  } catch (error) {
    if (!(error instanceof SpecError)) throw error;
    const count = error.problems.length;
    throw new CaissonError('spec_invalid', `the spec has ${count === 1 ? 'a problem' : `${count} problems`}`, {
      problems: error.problems,
      hint: 'Correct the fields named above; docs/spec.md describes every field.',
    });
  }
}
