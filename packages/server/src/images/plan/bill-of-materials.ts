import { canonicalJson, type ResolvedImagePlan } from '@caisson/workspace-composition';
import { planDigest } from '@caisson/workspace-composition/digest';
import { findHarness } from '../harnesses/table.ts';

export const billMediaType = 'application/vnd.cyclonedx+json';

/** How package URLs name what each package manager installs. */
const purlTypes = { apt: 'deb', dnf: 'rpm', pacman: 'alpm', apk: 'apk', nix: 'nix' } as const;

/** Versions that were found installed, by native name. A plan alone knows only those that it pins. */
export type InstalledVersions = ReadonlyMap<string, string>;

/** What is inside, as CycloneDX 1.5: a function of the plan and of what was installed, with no time and no random id. */
export function billOfMaterials(plan: ResolvedImagePlan, installed: InstalledVersions = new Map()): string {
  const { os, harness } = plan;
  const packages = plan.packages.map(({ nativeName, version, packageManager }) => {
    const known = installed.get(nativeName) ?? version;
    return component('library', nativeName, known, purl(purlTypes[packageManager], [os.family, nativeName], known));
  });
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
