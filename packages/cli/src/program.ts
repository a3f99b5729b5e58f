import { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { addActs } from './commands/act.ts';
import { addAttempt, addBuild } from './commands/build.ts';
import { addCompletion } from './commands/completion.ts';
import { addCp } from './commands/cp.ts';
import { addCreate, addEnsure } from './commands/create.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEgress } from './commands/egress.ts';
import { addEvents } from './commands/events.ts';
import { addExec } from './commands/exec.ts';
import { addFiles } from './commands/files.ts';
import { addGet } from './commands/get.ts';
import { addHealth } from './commands/health.ts';
import { addImage } from './commands/image.ts';
import { addCapabilities, addInspect, addReapStale } from './commands/inspect.ts';
import { addKeys } from './commands/keys.ts';
import { addList } from './commands/list.ts';
import { addLogs } from './commands/logs.ts';
import { addNetwork } from './commands/network.ts';
import { addPlan } from './commands/plan.ts';
import { addPool } from './commands/pool.ts';
import { addPort } from './commands/port.ts';
import { addKill, addPs } from './commands/processes.ts';
import { addProfile } from './commands/profile.ts';
import { addRoute } from './commands/route.ts';
import { addSecret } from './commands/secret.ts';
import { addServe } from './commands/serve.ts';
import { addAttach, addShell } from './commands/shell.ts';
import { addSnapshotContent } from './commands/snapshot-content.ts';
import { addSnapshots } from './commands/snapshots.ts';
import { addSpec } from './commands/spec.ts';
import { addStats } from './commands/stats.ts';
import { addStopServer } from './commands/stop-server.ts';
import { addTool } from './commands/tool.ts';
import { addTop } from './commands/top.ts';
import { addTravel } from './commands/travel.ts';
import { addVersion } from './commands/version.ts';
import type { Invocation } from './invocation.ts';
import type { Screen } from './output/screen.ts';
import { version } from './version.ts';

/** The tree of commands. Help and shell completion are made from it. */
export function buildProgram(invocation: Invocation, screen: Screen, outcome: { exitCode: number }): Command {
  const context: CommandContext = {
    invocation,
    screen,
    connect: async (options, needs) => (await import('./connect.ts')).connect(options, invocation, screen, needs),
    exitWith: (exitCode) => {
      outcome.exitCode = exitCode;
    },
  };
  const program = new Command('caisson')
    .description('Isolated, reproducible sandboxes for coding agents.')
    .version(version, '-V, --version', 'print the version')
    .option('--json', 'one JSON document instead of text; errors as a problem document')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => invocation.out.write(text),
      writeErr: (text) => invocation.err.write(text),
      // Told by whoever runs the program, in the same form as every other error.
      outputError: () => {},
    })
    .showSuggestionAfterError();
  addCreate(program, context);
  addEnsure(program, context);
  addGet(program, context);
  addList(program, context);
  addActs(program, context);
  addExec(program, context);
  addShell(program, context);
  addAttach(program, context);
  addPs(program, context);
  addKill(program, context);
  addLogs(program, context);
  addStats(program, context);
  addTop(program, context);
  addHealth(program, context);
  addCp(program, context);
  addFiles(program, context);
  addTool(program, context);
  addPort(program, context);
  addTravel(program, context);
  addSnapshotContent(addSnapshots(program, context), context);
  addNetwork(program, context);
  addEgress(program, context);
  addEvents(program, context);
  addSpec(program, context);
  addPlan(program, context);
  addBuild(program, context);
  addAttempt(program, context);
  addImage(program, context);
  addProfile(program, context);
  addPool(program, context);
  addRoute(program, context);
  addSecret(program, context);
  addKeys(program, context);
  addServe(program, context);
  addStopServer(program, context);
  addDoctor(program, context);
  addInspect(program, context);
  addReapStale(program, context);
  addCapabilities(program, context);
  addCompletion(program, context);
  addVersion(program, context);
  return program;
}
