import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';

/**
 * The arrows of ARCHITECTURE.md as data: which package and which folder of the server may import which. An arrow that
 * is not here is refused; adding one is a decision about the design and is made here, in sight.
 */
export const packageArrows: Record<string, readonly string[]> = {
  'workspace-composition': [],
  contract: ['workspace-composition'],
  guest: ['contract', 'workspace-composition'],
  sdk: ['contract', 'workspace-composition'],
  server: ['guest', 'sdk', 'contract', 'workspace-composition'],
  cli: ['server', 'sdk', 'contract', 'workspace-composition'],
  web: ['sdk', 'contract', 'workspace-composition'],
};

/** Packages that run in a browser too: no module of Node. */
export const browserSafe = ['workspace-composition', 'contract', 'sdk', 'web'];
/** The exceptions, each a subpath that a browser never loads. */
export const nodeOnlyFiles = ['packages/workspace-composition/src/digest.ts'];

/** What the pure packages may use from outside. */
export const externalDependencies: Record<string, readonly string[]> = {
  'workspace-composition': ['zod'],
  contract: ['zod'],
  guest: [],
};

/**
 * Within the server, a request goes one way: api → sandbox → (routing, images) → drivers. A folder lists those it may
 * import besides itself. `main` is the only wiring and may import everything.
 */
export const serverArrows: Record<string, readonly string[]> = {
  api: [
    'sandbox',
    'audit',
    'credits',
    'builds',
    'preview',
    'snapshot-content',
    'network',
    'tenancy',
    'events',
    'webhooks',
    'telemetry',
    'documents',
    'profiles',
    'store',
  ],
  sandbox: [
    'builds',
    'tenancy',
    'routing',
    'images',
    'drivers',
    'storage',
    'store',
    'events',
    'leases',
    'credits',
    'telemetry',
    'profiles',
    'turns',
    'network',
  ],
  builds: ['images', 'store', 'tenancy', 'events', 'telemetry'],
  'snapshot-content': ['sandbox', 'tenancy', 'routing', 'images', 'drivers', 'storage', 'store', 'profiles'],
  network: ['store', 'tenancy', 'events', 'drivers', 'telemetry'],
  preview: ['sandbox', 'store', 'tenancy', 'telemetry'],
  routing: ['drivers', 'telemetry'],
  images: ['store', 'storage', 'drivers', 'telemetry'],
  drivers: ['isolation', 'turns'],
  isolation: [],
  turns: [],
  storage: ['isolation', 'turns'],
  store: ['telemetry'],
  tenancy: ['store'],
  audit: ['store', 'tenancy'],
  credits: ['store', 'tenancy', 'events'],
  leases: ['store'],
  events: ['store'],
  webhooks: ['events', 'network', 'store', 'tenancy', 'telemetry', 'turns'],
  profiles: ['documents'],
  telemetry: [],
  documents: [],
  faults: [],
};

const sharedParts: readonly string[] = ['storage/layered'];

/** A driver knows the contract of drivers, and nothing else of the server. The fakes may break on demand. */
export function mayImportWithinFolder(from: string, to: string): boolean {
  const [folder, kind, file] = from.split('/');
  const [, otherKind, otherFile] = to.split('/');
  if (from.startsWith('images/builders/')) return isOfOneBuilder(from, to);
  if (folder !== 'drivers' && folder !== 'storage') return true;
  // What stands at the top of the folder is the contract, and what its implementations share.
  if (file === undefined || otherFile === undefined || kind === otherKind) return true;
  // What several of them stand on is a folder of its own, which knows none of them.
  return sharedParts.includes(`${folder}/${otherKind}`);
}

/** What both builders use lies beside their folders; neither reaches into the other's. */
function isOfOneBuilder(from: string, to: string): boolean {
  const builderOf = (path: string) => /^images\/builders\/([^/]+)\//.exec(path)?.[1];
  return builderOf(to) === undefined || builderOf(to) === builderOf(from);
}

export interface Import {
  readonly file: string;
  readonly target: string;
}

export interface Violation extends Import {
  readonly why: string;
}

export function sourceFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (name === 'node_modules' || name === 'dist') return [];
    if (statSync(path).isDirectory()) return sourceFiles(path);
    return /\.tsx?$/.test(name) && !/\.test\.tsx?$/.test(name) ? [path] : [];
  });
}

/** Static, dynamic, type and re-exporting imports alike. */
export function importsOf(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const pattern =
    /(?:^|[\s;}])(?:import|export)\b(?:[^'"`;]*?\bfrom)?\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;
  return [...code.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? '');
}

export function violations(root: string): Violation[] {
  const packages = readdirSync(join(root, 'packages'));
  return packages.flatMap((name) => {
    const source = join(root, 'packages', name, 'src');
    return sourceFiles(source).flatMap((path) =>
      importsOf(readFileSync(path, 'utf8')).flatMap((target) => {
        const file = relative(root, path).split(sep).join('/');
        const inside = target.startsWith('.')
          ? relative(source, join(dirname(path), target))
              .split(sep)
              .join('/')
          : undefined;
        const why = judge(name, file, target, inside);
        return why === undefined ? [] : [{ file, target, why }];
      }),
    );
  });
}

/** Why the import is against the arrows, or undefined. `inside` is its target relative to the package's sources. */
export function judge(name: string, file: string, target: string, inside?: string): string | undefined {
  const arrows = packageArrows[name];
  if (arrows === undefined) return `package ${name} is not in the table of arrows`;
  if (inside !== undefined) {
    if (inside.startsWith('..')) return 'reaches out of its package; import it by name';
    return name === 'server' ? judgeServer(file.replace('packages/server/src/', ''), inside) : undefined;
  }
  const ours = /^@caisson\/([^/]+)/.exec(target)?.[1];
  if (ours !== undefined) return arrows.includes(ours) ? undefined : `${name} may not import ${ours}`;
  if (target.startsWith('node:') || builtinModules.includes(target)) {
    return browserSafe.includes(name) && !nodeOnlyFiles.includes(file) ? `${name} must run in a browser` : undefined;
  }
  const allowed = externalDependencies[name];
  const dependency = target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/');
  return allowed && !allowed.includes(dependency)
    ? `${name} may depend on ${allowed.join(', ') || 'nothing'}`
    : undefined;
}

function judgeServer(from: string, to: string): string | undefined {
  if (!from.includes('/')) return undefined;
  const [folder = ''] = from.split('/');
  const [target = ''] = to.split('/');
  const arrows = serverArrows[folder];
  if (arrows === undefined) return `folder ${folder} is not in the table of arrows`;
  if (folder === target)
    return mayImportWithinFolder(from, to) ? undefined : `${folder} implementations know only their contract`;
  const isFake = from.startsWith('drivers/fake/') || from.startsWith('storage/memory/');
  if (isFake && target === 'faults') return undefined;
  return arrows.includes(target) ? undefined : `${folder} may not import ${target}`;
}
