import type { NetworkRules, Owner } from '@caisson/contract';
import { canonicalJson } from '@caisson/workspace-composition';
import { digestOf } from '../../digest.ts';
import type { RunStep } from '../../plan/build-steps.ts';
import { bind, mounted, type RunBy } from '../../plan/containerfile.ts';
import { reachOf } from '../step-key.ts';
import { type ContextEntry, madeFile } from './session/context-tree.ts';

/** The loopback ports on which a step finds its way out, by what is spoken there, and the variables that say so. */
export interface StepProxy {
  readonly ports: Readonly<Record<'http' | 'socks', number>>;
  readonly env: Readonly<Record<string, string>>;
}

/** An authority that steps trust besides those of their image: what says so in a folder, and the files there. */
export interface StepTrust {
  readonly env: (folder: string) => Readonly<Record<string, string>>;
  /** `roots`: those that the base has. */
  readonly files: (folder: string, roots: string | undefined) => ReadonlyMap<string, string>;
}

/** Who the build is for, and what it may reach. */
export interface StepScope {
  readonly owner: Owner;
  readonly rules: NetworkRules;
}

const folder = 'step';
const scopeOfAll = 'scope/all';
const scopeOfTenant = 'scope/tenant';

/**
 * How a step is run that has no network but loopback: by our own program, which carries the proxy's ports to sockets that
 * BuildKit brings in and whose other end is here.
 */
export function runByGuest({ ports }: StepProxy): (step: RunStep) => RunBy {
  const sockets = Object.entries(ports).map(
    ([id, port]) => `--mount=type=ssh,id=${id},target=${mounted}/${port}.sock,mode=0666,required=true`,
  );
  const argv = [`${mounted}/${folder}/caisson-guest`, 'step', mounted, ...Object.values(ports).map(String), '--'];
  return (step) => ({ mounts: [...sockets, bind(folder), bind(step.withEnv ? scopeOfTenant : scopeOfAll)], argv });
}

/**
 * What that needs in the context. The scopes are there to be mounted: what BuildKit keeps of a step is found again only by
 * those who may reach the same, and what the words of a tenant made by that tenant alone.
 */
export function runnerFiles(
  guest: Buffer,
  proxy: StepProxy,
  { owner, rules }: StepScope,
  trust?: { readonly of: StepTrust; readonly roots: string | undefined },
): ContextEntry[] {
  const place = `${mounted}/${folder}`;
  const env = { ...proxy.env, ...trust?.of.env(place) };
  const trusted = [...(trust?.of.files(place, trust.roots) ?? [])];
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}\n`);
  const scope = (...parts: unknown[]) => Buffer.from(`${digestOf(canonicalJson(parts))}\n`);
  return [
    madeFile(`${folder}/caisson-guest`, guest, 0o755),
    madeFile(`${folder}/env`, Buffer.from(variables.join(''))),
    ...trusted.map(([name, text]) => madeFile(`${folder}/${name}`, Buffer.from(text))),
    madeFile(scopeOfAll, scope(reachOf(rules))),
    madeFile(scopeOfTenant, scope(reachOf(rules), owner.tenant)),
  ];
}
