import { canonicalJson, type ResolvedImagePlan } from '@caisson/workspace-composition';
import { planDigest } from '@caisson/workspace-composition/digest';
import { findHarness } from '../harnesses/table.ts';

export const billMediaType = 'application/vnd.cyclonedx+json';

/** How package URLs name what each package manager installs. */
const purlTypes = { apt: 'deb', dnf: 'rpm', pacman: 'alpm', apk: 'apk', nix: 'nix' } as const;

/** Versions that dpkg says are installed, by native name. A plan alone knows only those that it pins. */
export type InstalledVersions = ReadonlyMap<string, string>;

/**
 * What is inside, as CycloneDX 1.5: a function of the plan and of what was installed, with no time and no random id.
 * Whatever is installed is listed: the packages of the base, and those that came with others or with a setup step.
 */
export function billOfMaterials(plan: ResolvedImagePlan, installed: InstalledVersions = new Map()): string {
  const { os, harness } = plan;
  // Nobody knows whose packages an image has.
  const vendor = os.family === 'image' ? [] : [os.family];
  const byName = new Map<string, ReturnType<typeof component>>();
  const add = (type: string, name: string, version: string | undefined) =>
    byName.set(name, component('library', name, version, purl(type, [...vendor, name], version)));
  for (const [name, version] of installed) add(purlTypes.apt, name, version);
  for (const { nativeName, version, packageManager } of plan.packages)
    if (!installed.has(nativeName)) add(purlTypes[packageManager], nativeName, version);
  const packages = [...byName.keys()].sort().map((name) => byName.get(name));
  const npmPackage = harness && findHarness(harness.id)?.npmPackage;
  const agent =
    harness === undefined || npmPackage === undefined
      ? []
      : [component('application', npmPackage, harness.version, purl('npm', npmPackage.split('/'), harness.version))];
  return canonicalJson({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      component: { type: 'container', name: planDigest(plan) },
      properties: [{ name: 'dev.caisson.base', value: plan.base.digest }],
    },
    components: [component('operating-system', os.family, os.release), ...packages, ...agent],
  });
}

function component(type: string, name: string, version: string | undefined, url?: string) {
  return {
    type,
    name,
    ...(version === undefined ? {} : { version }),
    ...(url === undefined ? {} : { purl: url, 'bom-ref': url }),
  };
}

function purl(type: string, path: readonly string[], version: string | undefined): string {
  const name = path.map(encodeURIComponent).join('/');
  return `pkg:${type}/${name}${version === undefined ? '' : `@${encodeURIComponent(version)}`}`;
}
