/** The closed word lists of spec, blueprint and plan, and the defaults a blueprint resolves to. */
export const workspaceBlueprintVersion = '1';

export const sourceProviders = ['github', 'gitlab', 'generic'] as const;
export const sourceKinds = ['git', 'folder', 'archive', 'none'] as const;
export const inputKinds = ['git', 'folder', 'archive'] as const;
export const inputPurposes = ['config', 'dotfiles', 'bootstrap'] as const;
export const harnessIds = ['claude-code', 'codex', 'opencode', 'none'] as const;
export const loginShells = ['bash', 'zsh', 'fish'] as const;
export const dotfilesManagers = ['auto', 'chezmoi', 'stow', 'copy'] as const;
export const dotfilesTargets = ['home', 'config'] as const;
export const stepShells = ['sh', 'bash'] as const;
export const foregroundKinds = ['harness', 'command'] as const;
export const persistenceModes = ['ephemeral', 'persistent'] as const;
export const ociRuntimes = ['auto', 'runc', 'crun', 'runsc', 'kata'] as const;
export const networkModes = ['off', 'allowlist', 'open'] as const;
export const osFamilies = ['auto', 'host', 'debian', 'ubuntu', 'fedora', 'arch', 'nix', 'alpine', 'image'] as const;
export const targetModes = ['prefer', 'require'] as const;

/** Families that name one distribution, so that a release of it can be asked for. */
export const distributionFamilies = ['debian', 'ubuntu', 'fedora', 'arch', 'nix', 'alpine'] as const;

export type SourceProvider = (typeof sourceProviders)[number];
export type OsFamily = (typeof osFamilies)[number];

export function isDistribution(family: OsFamily): boolean {
  return (distributionFamilies as readonly string[]).includes(family);
}

export const defaultWorkspaceRoot = '/workspace';
export const defaultSshPort = 2222;

/** Where the repository lies, and where steps run unless they say otherwise. */
export function repositoryDirectory(workspaceRoot: string): string {
  return `${workspaceRoot}/repo`;
}
