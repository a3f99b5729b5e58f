import type { Config } from './documents.ts';

/** What an image asks of the processes that run in it. */
export interface ImageSettings {
  readonly env: Record<string, string>;
  readonly workingDirectory?: string;
  readonly user?: string;
  /** What it starts where an engine runs it; a sandbox starts something else. */
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
}

const envName = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/** A line that is no `NAME=value` is left out, as every runtime does. */
export function imageSettings({ config }: Config): ImageSettings {
  const env: Record<string, string> = {};
  for (const line of config?.Env ?? []) {
    const equals = line.indexOf('=');
    const name = line.slice(0, equals);
    if (equals > 0 && envName.test(name) && !line.includes('\0')) env[name] = line.slice(equals + 1);
  }
  const workingDirectory = config?.WorkingDir;
  const user = config?.User;
  const labels = config?.Labels ?? {};
  return {
    env,
    ...(workingDirectory?.startsWith('/') ? { workingDirectory } : {}),
    ...(user ? { user } : {}),
    ...(config?.Entrypoint?.length ? { entrypoint: config.Entrypoint } : {}),
    ...(config?.Cmd?.length ? { command: config.Cmd } : {}),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
  };
}
