import type { Sandbox } from '@caisson/contract';
import type { Driver } from '../drivers/driver.ts';
import type { BaseImage } from '../images/images.ts';
import type { AttemptImage } from '../store/attempts.ts';
import { imaging } from './backend-images.ts';
import { buildImage } from './build.ts';
import { withDeadline } from './deadline.ts';
import { hasChangingImage } from './filesystems.ts';
import type { LaunchPlan } from './launch-plan.ts';
import { Progress } from './progress.ts';
import type { WorkContext } from './work-context.ts';

/**
 * The image that the attempt names: what was built for it, or what an earlier attempt began from. Without one, the name
 * of its base decides.
 */
export async function chosenImage(
  context: WorkContext,
  sandbox: Sandbox,
  { attempt, blueprint }: LaunchPlan,
  signal: AbortSignal,
): Promise<{ base?: BaseImage; notices?: readonly string[] }> {
  const { imageChoice } = context;
  const base = attempt.image === null ? undefined : await imageChoice?.kept(attempt.image);
  if (base) return { base };
  if (attempt.planDigest !== null || imageChoice?.isBuilt(blueprint))
    return { base: await buildImage(context, sandbox, attempt, signal) };
  if (attempt.image === null || !hasChangingImage(blueprint)) return {};
  return {
    notices: [`The image ${attempt.image} that it began from is gone: it begins from what its name means now.`],
  };
}

/** Which image of its own a backend launches; undefined for a backend that needs none. */
export async function imageOnBackend(
  context: WorkContext,
  driver: Driver,
  sandbox: Sandbox,
  plan: LaunchPlan,
  signal: AbortSignal,
): Promise<{ image: AttemptImage; notices: readonly string[] } | undefined> {
  const { store, backendImages, deadlines } = context;
  const { attempt, blueprint, fromKept, from, kept } = plan;
  const taker = imaging(driver);
  if (!taker || !backendImages) return undefined;
  const known = from?.image ?? kept?.image ?? (fromKept ? await store.attempts.image(sandbox.id) : undefined);
  if (known) return { image: known, notices: [] };
  // The backend knows it by a digest of its own.
  const same = attempt.image === null ? undefined : await taker.findImage(attempt.image, signal);
  if (same) return { image: { digest: same.digest, env: same.env }, notices: same.notices };
  const chosen = await chosenImage(context, sandbox, plan, signal);
  const progress = new Progress(store, sandbox.id);
  try {
    const options = { progress: progress.tell };
    const { digest, env, notices } = await withDeadline('finding the image', deadlines.prepareMs, signal, (inner) =>
      chosen.base
        ? backendImages.bring(taker, chosen.base, { ...options, signal: inner })
        : backendImages.resolve(taker, blueprint.target.os, { ...options, owner: sandbox.owner, signal: inner }),
    );
    return { image: { digest, env }, notices: [...notices, ...(chosen.notices ?? [])] };
  } finally {
    await progress.end();
  }
}
