import type { Snapshot } from '@caisson/contract';
import type { Command } from 'commander';
import { type CommandContext, withServer } from '../command-context.ts';
import type { ServerChoice } from '../connect.ts';
import { parseDuration, parseWholeDuration } from '../input/duration.ts';
import { collectKeyValue, parseCount } from '../input/key-value.ts';
import { historyText } from '../output/history-text.ts';
import { withProgress } from '../output/progress.ts';

type Labels = Record<string, string>;

interface PlaceOptions extends ServerChoice {
  readonly name?: string;
  readonly label?: Labels;
  readonly ttl?: number;
  readonly wait: number;
}

/** Snapshots and turns, and the ways back to them and on from them. */
export function addTravel(parent: Command, context: CommandContext): void {
  addKeeping(parent, context);
  addRollback(parent, context);
  addBranching(parent, context);
  addHistory(parent, context);
}

function addKeeping(parent: Command, { connect, screen }: CommandContext): void {
  withServer(parent.command('snapshot').description('keep the files of a sandbox as they are now'))
    .argument('<sandbox>', 'id or name')
    .option('-n, --name <name>', 'a name of your own, to go back to it by')
    .option('-l, --label <key=value>', 'label; may be repeated', collectKeyValue)
    .action(async (ref: string, { name, label, ...options }: ServerChoice & { name?: string; label?: Labels }) => {
      const sandbox = await find(await connect(options), ref);
      const request = { ...(name === undefined ? {} : { name }), ...(label === undefined ? {} : { labels: label }) };
      const snapshot = await withProgress(screen, `keeping the files of ${ref}`, () => sandbox.snapshot(request));
      screen.result(snapshot, () => snapshot.id);
    });

  withServer(parent.command('turn-complete').description('end a turn: the next number, and a snapshot of that name'))
    .argument('<sandbox>', 'id or name')
    .option('-l, --label <key=value>', 'label; may be repeated', collectKeyValue)
    .action(async (ref: string, { label, ...options }: ServerChoice & { label?: Labels }) => {
      const sandbox = await find(await connect(options), ref);
      const request = label === undefined ? {} : { labels: label };
      const turn = await withProgress(screen, `ending a turn of ${ref}`, () => sandbox.turnComplete(request));
      screen.result(turn, () => turn.name ?? turn.id);
    });
}

function addRollback(parent: Command, { connect, screen }: CommandContext): void {
  withServer(parent.command('rollback').description('put the files back to a snapshot; processes end'))
    .argument('<sandbox>', 'id or name')
    .argument('<snapshot>', 'its name, turn-0001 say, or its id')
    .option('-f, --force', 'also while tools run')
    .option('--wait <duration>', 'how long to wait for its end; 0 returns at once', parseDuration, 60)
    .action(async (ref: string, snapshot: string, options: ServerChoice & { force?: boolean; wait: number }) => {
      const caisson = await connect(options);
      const { followAction, tellAction } = await import('../follow-action.ts');
      const sandbox = await find(caisson, ref);
      const { wait, force } = options;
      const done = await followAction(caisson, screen, `rolling ${ref} back to ${snapshot}`, wait, (waitSeconds) =>
        sandbox.rollback(snapshot, { waitSeconds, force }),
      );
      tellAction(screen, done);
    });
}

function addBranching(parent: Command, { connect, screen }: CommandContext): void {
  withPlace(parent.command('restore').description('a new sandbox that begins with the files of a snapshot'))
    .argument('<snapshot>', 'its id, or <sandbox>:<name>')
    .option('-n, --name <name>', 'a name of your own')
    .action(async (ref: string, options: PlaceOptions) => {
      const caisson = await connect(options);
      const { followMaking } = await import('../follow-action.ts');
      const { findSnapshot } = await import('../find-snapshot.ts');
      const { id } = await findSnapshot(caisson, ref);
      await followMaking(caisson, screen, `restoring ${ref}`, options.wait, (waitSeconds) =>
        caisson.snapshots.restore(id, { ...placeOf(options), waitSeconds }),
      );
    });

  withPlace(parent.command('fork').description('new sandboxes that begin with the files of another as they are now'))
    .argument('<sandbox>', 'id or name')
    .option('-c, --count <count>', 'how many', parseCount, 1)
    .action(async (ref: string, options: PlaceOptions & { count: number }) => {
      const sandbox = await find(await connect(options), ref);
      const { count, wait: waitSeconds } = options;
      const items = await withProgress(screen, `forking ${ref}`, () =>
        sandbox.fork({ ...placeOf(options), count, waitSeconds }),
      );
      screen.result({ items }, () => items.map(({ id }) => id).join('\n'));
    });
}

function addHistory(parent: Command, { connect, screen }: CommandContext): void {
  withServer(parent.command('history').description('the turns and snapshots of a sandbox as the tree that they are'))
    .argument('<sandbox>', 'id or name')
    .action(async (ref: string, options: ServerChoice) => {
      const caisson = await connect(options);
      const sandbox = await find(caisson, ref);
      const snapshots: Snapshot[] = [];
      for await (const one of caisson.snapshots.list({ sandbox: sandbox.id })) snapshots.push(one);
      screen.result({ sandbox: sandbox.record, snapshots }, () => historyText(screen, sandbox.record, snapshots));
    });
}

function withPlace(command: Command): Command {
  return withServer(command)
    .option('-l, --label <key=value>', 'label; may be repeated', collectKeyValue)
    .option('--ttl <duration>', 'how long it may live: 90s, 15m, 2h, 1d', parseWholeDuration)
    .option('--wait <duration>', 'how long to wait until it is ready; 0 returns at once', parseDuration, 60);
}

function placeOf({ name, label, ttl }: PlaceOptions) {
  return {
    ...(name === undefined ? {} : { name }),
    ...(label === undefined ? {} : { labels: label }),
    ...(ttl === undefined ? {} : { ttlSeconds: ttl }),
  };
}

async function find(caisson: Awaited<ReturnType<CommandContext['connect']>>, ref: string) {
  const { findSandbox } = await import('../find-sandbox.ts');
  return findSandbox(caisson, ref);
}
