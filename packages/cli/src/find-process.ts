import { CaissonError, isId } from '@caisson/contract';
import type { Process, SandboxHandle } from '@caisson/sdk';

/**
 * The process that was meant: by its id, by its pid inside the sandbox, or by a tag that one running process has, or
 * else one that has ended.
 */
export async function findProcess(sandbox: SandboxHandle, ref: string): Promise<Process> {
  if (isId('process', ref)) return sandbox.processes.get(ref);
  const all = await sandbox.processes.list();
  const isPid = /^\d{1,10}$/.test(ref);
  const tagged = all.filter(({ record }) => !isPid && record.tags.includes(ref));
  const running = isPid
    ? all.filter((one) => one.pid === Number(ref) && one.running)
    : tagged.filter((one) => one.running);
  const fits = running.length > 0 ? running : tagged;
  const [first] = fits;
  if (first === undefined) throw new CaissonError('process_not_found', `there is no process ${ref}`);
  if (fits.length === 1) return first;
  throw new CaissonError('request_invalid', `${fits.length} processes have the tag ${ref}`, {
    hint: 'Use the id of the one you mean.',
    context: { ids: fits.map(({ id }) => id) },
  });
}
