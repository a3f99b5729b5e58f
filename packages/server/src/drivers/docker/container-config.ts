import { createHash } from 'node:crypto';
import { type Owner, ownerFromLabels, ownerLabels } from '@caisson/contract';
import { sandboxCapabilities } from '../../isolation/capabilities.ts';
import { maskedPaths, readonlyPaths } from '../../isolation/hidden-paths.ts';
import { memoryFolders } from '../../isolation/writable-places.ts';
import type { CreateRequest } from '../driver.ts';
import { boundProcessors } from '../processors.ts';
import { namesOf } from './instance-name.ts';
import { workspaceMount } from './workspace-volume.ts';

/**
 * Where the guest is seen inside: in a filesystem that goes with the instance, so that nothing of it is ever found in a
 * snapshot, and read-only, so that nothing inside can change it.
 */
const inside = '/dev/.caisson';
export const insideProgram = `${inside}/guest`;
/** Where the guest listens for its relay, in the container's own network namespace. */
const relayName = 'caisson';

export interface ConfigInput {
  readonly request: CreateRequest;
  /** What the engine calls the image; an id, so that it is this one whatever its tags mean by now. */
  readonly image: string;
  /** What the image adds to the environment by itself, as far as the request may not have it. */
  readonly imageEnv?: Readonly<Record<string, string>> | undefined;
  /** The volume that holds the guest program. */
  readonly volume: string;
  /** The engine's name of the runtime; its default where absent. */
  readonly runtime: string | undefined;
  /** How many processors the engine's machine has. */
  readonly processors: number;
  /** As this engine is told which variables there are, and which of the image's there are not. */
  readonly environment: (env: Readonly<Record<string, string>>, unset: readonly string[]) => Record<string, unknown>;
  /** As this engine is told what else shuts the container in: the filter of calls above all. */
  readonly securityOptions: readonly string[];
}

export interface ContainerConfig {
  readonly HostConfig: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** What the engine is asked to make. Pure: the same input gives the same container. */
export function containerConfig(input: ConfigInput): ContainerConfig {
  const { request, image } = input;
  const { key } = request;
  const env = environmentOf(request);
  // Where programs are found is the engine's to say when the image does not.
  const unset = Object.keys(input.imageEnv ?? {}).filter((name) => !(name in env) && name !== 'PATH');
  return {
    Image: image,
    Hostname: key.sandbox,
    User: '0:0',
    WorkingDir: '/',
    Entrypoint: [insideProgram],
    Cmd: guestArguments(request),
    ...input.environment(env, unset),
    Labels: { ...labelsOf(request), [environmentLabel]: environmentMark(request), [diskLabel]: diskMark(request) },
    // Its first secret comes on stdin: it is neither in a file, nor in the list of processes, nor to be inspected.
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: false,
    AttachStderr: false,
    Tty: false,
    NetworkDisabled: true,
    // What an image wants to have watched is not what we launch.
    Healthcheck: { Test: ['NONE'] },
    HostConfig: hostConfig(input),
  };
}

/** By which a container is known to have a certain environment. */
export const environmentLabel = 'caisson.environment';

/** How large the files of a container may become before they are not kept any more. */
export const diskLabel = 'caisson.disk-mib';

function diskMark({ resources, blueprint }: CreateRequest): string {
  return String((resources ?? blueprint.runtime.resources).diskMiB ?? '');
}

function environmentOf({ env, blueprint }: CreateRequest): Readonly<Record<string, string>> {
  return env ?? blueprint.runtime.env;
}

export function environmentMark(request: CreateRequest): string {
  const all = Object.entries(environmentOf(request)).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(all)).digest('hex').slice(0, 32);
}

export function relayCommand(): string[] {
  return [insideProgram, 'relay', '--relay', relayName];
}

/** The labels of a container are the image's too, where it has no own: so each of ours is always there, if empty. */
const empty = { 'caisson.scope': '', 'caisson.papers': '', 'caisson.room': '' };

/** By which an instance is found again, with its whole owner. */
export function labelsOf({ key, owner, labels }: CreateRequest): Record<string, string> {
  const { sandbox, incarnation } = key;
  const own = { 'caisson.sandbox': sandbox, 'caisson.incarnation': String(incarnation) };
  return { ...empty, ...labels, ...ownerLabels(owner), ...own };
}

/** The whole owner, or undefined. */
export function ownerOf(labels: Readonly<Record<string, string>>): Owner | undefined {
  const { 'caisson.scope': scope, ...rest } = labels;
  return ownerFromLabels(scope ? labels : rest);
}

function guestArguments({ key, blueprint }: CreateRequest): string[] {
  const identity = ['--sandbox', key.sandbox, '--incarnation', String(key.incarnation)];
  const channel = ['--relay', relayName, '--secret-fd', '0'];
  return ['guest', ...identity, ...channel, '--create-user', '--directory', blueprint.runtime.workspaceRoot];
}

function hostConfig({ request, volume, runtime, processors, securityOptions }: ConfigInput): Record<string, unknown> {
  const names = namesOf(request.key);
  const isReadOnly = request.blueprint.runtime.readOnlyRoot === true;
  const guest = { Type: 'volume', Source: volume, Target: inside, ReadOnly: true };
  return {
    NetworkMode: 'none',
    IpcMode: 'private',
    CgroupnsMode: 'private',
    CapDrop: ['ALL'],
    CapAdd: [...sandboxCapabilities],
    SecurityOpt: ['no-new-privileges', ...securityOptions],
    MaskedPaths: [...maskedPaths],
    ReadonlyPaths: [...readonlyPaths],
    Mounts: [guest, ...(isReadOnly ? [workspaceMount(request, names)] : [])],
    ...(isReadOnly ? { ReadonlyRootfs: true, Tmpfs: inMemory(request) } : {}),
    RestartPolicy: { Name: 'no' },
    // The guest says little; what a broken one says must not fill the engine's disk.
    LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
    ...(runtime === undefined ? {} : { Runtime: runtime }),
    ...limits(request, processors, names.container),
  };
}

/** The workspace is mounted by itself: what would lie over it, or around it, is left out. */
function inMemory({ resources, blueprint }: CreateRequest): Record<string, string> {
  const { workspaceRoot } = blueprint.runtime;
  const folders = memoryFolders(resources ?? blueprint.runtime.resources);
  const others = folders.filter(({ path }) => !`${workspaceRoot}/`.startsWith(`${path}/`));
  return Object.fromEntries(others.map(({ path, options }) => [path, ['rw', 'exec', ...options].join(',')]));
}

/** A CPU's time is given in billionths; swap is part of the memory that an instance may have. */
function limits({ resources, blueprint }: CreateRequest, processors: number, name: string): Record<string, unknown> {
  const { cpus, memoryMiB, pids } = resources ?? blueprint.runtime.resources;
  const all = Array.from({ length: processors }, (_, i) => i);
  const bound = cpus === undefined ? undefined : boundProcessors(cpus, all, name);
  const bytes = memoryMiB === undefined ? undefined : memoryMiB * 1024 * 1024;
  return {
    // The kernel takes no less than a hundredth of one.
    ...(cpus === undefined ? {} : { NanoCpus: Math.max(10_000_000, Math.round(cpus * 1e9)) }),
    ...(bound === undefined ? {} : { CpusetCpus: bound }),
    ...(bytes === undefined ? {} : { Memory: bytes, MemorySwap: bytes }),
    ...(pids === undefined ? {} : { PidsLimit: pids }),
  };
}
