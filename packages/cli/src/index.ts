import { version } from './version.ts';

/**
 * The caisson command: arguments → exit code. Nothing is loaded before it is known to be needed: `version` needs nothing,
 * and everything else begins with {@link import('./run.ts')}.
 *
 * @param bin the file that was run; a server in the background is started with the same one
 */
export async function main(argv: readonly string[], bin: string): Promise<number> {
  const [first, ...rest] = argv;
  const asksVersion = first === 'version' || first === '--version' || first === '-V';
  if (asksVersion && rest.every((argument) => argument === '--json')) {
    process.stdout.write(rest.length > 0 ? `${JSON.stringify({ version })}\n` : `caisson ${version}\n`);
    return 0;
  }
  const { run } = await import('./run.ts');
  const { processInvocation } = await import('./invocation.ts');
  return run(processInvocation(argv, bin));
}
