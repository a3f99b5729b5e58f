import { distributionFacts } from './distributions.ts';
import type { PackagePlace, Unresolved } from './resolution.ts';

/** What a person is told about a package that cannot be installed, and what they may write instead. */
export function refusalOf(unresolved: Unresolved, place: PackagePlace): { message: string; hint?: string } {
  const { title, packageManager } = distributionFacts[place.distribution];
  const where = place.release === undefined ? title : `${title} ${place.release}`;
  const name = `\`${unresolved.id.slice(0, 128)}\``;
  switch (unresolved.status) {
    case 'ambiguous': {
      const choices = unresolved.candidates.map(({ id, what }) => `\`${id}\` (${what})`).join(', ');
      return { message: `${name} may mean several packages`, hint: `Write one of ${choices}.` };
    }
    case 'unsupported-on-os': {
      const others = unresolved.available.map((family) => distributionFacts[family].title).join(', ');
      const hint =
        others === '' ? 'Install it in `setup`.' : `It is in ${others}; here it can be installed in \`setup\`.`;
      return { message: `${where} does not have ${name}`, hint };
    }
    case 'not-found': {
      const near = unresolved.nearest.map((word) => `\`${word}\``).join(', ');
      const isLiteral = unresolved.id.startsWith(`${packageManager}:`);
      const words = [
        ...(near === '' ? [] : [`Did you mean ${near}?`]),
        ...(isLiteral ? [] : [`\`${packageManager}:<name>\` takes a name as it is.`]),
      ];
      const message = `${name} is not known for ${where}: ${unresolved.why}`;
      return words.length === 0 ? { message } : { message, hint: words.join(' ') };
    }
    case 'version-unavailable': {
      const others = unresolved.available.map((version) => `\`${version}\``).join(', ');
      const message = `${name} is not available in version ${unresolved.version} on ${where}: ${unresolved.why}`;
      return others === '' ? { message } : { message, hint: `There is ${others}.` };
    }
    case 'invalid':
      return { message: `${name} cannot be installed: ${unresolved.why}` };
  }
}
