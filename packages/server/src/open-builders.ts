import type { Driver } from './drivers/driver.ts';
import type { StepLimits } from './images/builders/native/do-step.ts';
import { NativeBuilder } from './images/builders/native/native-builder.ts';
import type { EgressGates } from './network/proxy/egress-gates.ts';
import { BuildRooms } from './sandbox/building/build-rooms.ts';
import type { RoomSubjects } from './sandbox/building/room-subjects.ts';
import type { Filesystems } from './sandbox/filesystems.ts';
import type { Runner } from './sandbox/runner.ts';
import type { WorkContext } from './sandbox/work-context.ts';

export interface NativeBuilderWiring {
  readonly filesystems: Filesystems | undefined;
  readonly drivers: readonly Driver[];
  readonly subjects: RoomSubjects;
  readonly gates: Pick<EgressGates, 'forget'>;
  readonly runner: Pick<Runner, 'whileIdle'>;
  readonly work: Pick<WorkContext, 'deadlines' | 'installation' | 'spans'>;
  readonly authority: string | undefined;
  readonly limits?: Partial<StepLimits> | undefined;
}

/** The builder that needs nothing but a driver whose filesystem is ours; undefined where there is none. */
export function openNativeBuilder(
  wiring: NativeBuilderWiring,
): { readonly builder: NativeBuilder; close(): Promise<void> } | undefined {
  const { filesystems, drivers, subjects, gates, runner, authority, limits } = wiring;
  const driver = drivers.find(({ capabilities }) => capabilities.storage === 'ours' && capabilities.guest);
  if (!filesystems || !driver) return undefined;
  const { deadlines, installation, spans } = wiring.work;
  const { storage, images } = filesystems;
  const rooms = new BuildRooms({ storage, driver, subjects, gates, runner, deadlines, installation, spans, authority });
  return { builder: new NativeBuilder({ images, rooms, limits }), close: () => rooms.close() };
}
