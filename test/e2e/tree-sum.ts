import type { SandboxHandle } from '@caisson/sdk';

/** Every name, kind, mode, owner and link of a tree, and what its files hold, in one order. */
const listing = [
  'find . -printf "%P %y %m %U:%G %l\\n" | LC_ALL=C sort',
  'find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum',
].join('; ');

/** A digest of the whole tree as it is seen inside. */
export async function treeSum(sandbox: SandboxHandle, folder = '/workspace'): Promise<string> {
  const { exitCode, stdout, stderr } = await sandbox.exec(`cd ${folder} && { ${listing}; } | sha256sum`, {
    user: 'root',
  });
  if (exitCode !== 0) throw new Error(`the tree of ${sandbox.id} cannot be read: ${stderr}`);
  return stdout.trim();
}

/** A line of shell that must succeed; answers what it said. */
export async function sh(sandbox: SandboxHandle, line: string, user = 'root'): Promise<string> {
  const { exitCode, stdout, stderr } = await sandbox.exec(line, { user });
  if (exitCode !== 0) throw new Error(`${line} ended with ${exitCode}: ${stderr}`);
  return stdout.trim();
}
