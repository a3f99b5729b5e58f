import { runProgram } from './run-program.ts';
import { inWorkspace, type ToolWorks } from './tool.ts';

export const bashTool: ToolWorks<'bash'> = {
  bash: ({ command, cwd, env, stdin }, context) =>
    runProgram(
      {
        argv: ['bash', '-c', command],
        cwd: cwd === undefined ? undefined : inWorkspace(context, cwd),
        env,
        stdin,
      },
      context,
    ),
};
