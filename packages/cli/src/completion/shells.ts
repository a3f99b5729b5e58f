import type { CompletedCommand } from './command-tree.ts';

type Render = (root: CompletedCommand) => string;

/** Each renderer is loaded for its shell alone. */
export const shells = {
  bash: async (): Promise<Render> => (await import('./bash.ts')).bashCompletion,
  zsh: async (): Promise<Render> => (await import('./zsh.ts')).zshCompletion,
  fish: async (): Promise<Render> => (await import('./fish.ts')).fishCompletion,
};
