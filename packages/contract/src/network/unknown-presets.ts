import { nearest } from '@caisson/workspace-composition';
import type { NetworkRules } from './policy.ts';
import { presets } from './presets.ts';

export interface UnknownPreset {
  /** Within the rules: `allow[2]`. */
  readonly path: string;
  readonly entry: string;
  /** The preset that was probably meant, without `preset:`. */
  readonly nearest?: string;
}

/** The presets that the rules name and that do not exist: they would allow nothing, and deny everything. */
export function unknownPresets(rules: Pick<NetworkRules, 'allow' | 'deny'>): UnknownPreset[] {
  return (['allow', 'deny'] as const).flatMap((list) =>
    rules[list].flatMap((entry, index): UnknownPreset[] => {
      if (!entry.startsWith('preset:')) return [];
      const name = entry.slice('preset:'.length);
      if (presets.has(name)) return [];
      const near = nearest(name, presets.keys());
      const unknown = { path: `${list}[${index}]`, entry };
      return [near === undefined ? unknown : { ...unknown, nearest: near }];
    }),
  );
}
