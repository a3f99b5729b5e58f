import { systemOwner } from '@caisson/contract';
import { imaging } from '../backend-images.ts';
import { hasChangingImage } from '../filesystems.ts';
import type { WorkContext } from '../work-context.ts';
import type { PoolPlan } from './warm-pool.ts';

type Parts = Pick<WorkContext, 'filesystems' | 'backendImages' | 'imageChoice'>;

/**
 * Tells which image members would begin from that are made now; undefined where its name cannot come to mean another. The
 * answer is undefined where it cannot be told.
 */
export function imageNow(
  { filesystems, backendImages, imageChoice }: Parts,
  { driver, composed: { blueprint, digest } }: Pick<PoolPlan, 'driver' | 'composed'>,
): ((signal: AbortSignal) => Promise<string | undefined>) | undefined {
  if (!hasChangingImage(blueprint)) return undefined;
  if (imageChoice?.isBuilt(blueprint)) {
    // Members have what was built on it. An engine knows that by a digest of its own, and age alone replaces them there.
    if (driver.capabilities.storage !== 'ours') return undefined;
    return async (signal) => {
      const made = (await imageChoice.choose(blueprint, digest, systemOwner, signal))?.made;
      // A base without a digest of its own tells nothing; a plan that was not built yet is one that no member has.
      return made?.planDigest === undefined ? undefined : (made.fromImage ?? 'none');
    };
  }
  const taker = imaging(driver);
  if (taker && backendImages)
    return async (signal) =>
      (await backendImages.resolve(taker, blueprint.target.os, { owner: systemOwner, signal, progress: () => {} }))
        .digest;
  if (!filesystems || driver.capabilities.storage !== 'ours') return undefined;
  return (signal) => filesystems.imageDigest(blueprint, signal);
}
