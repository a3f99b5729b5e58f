import type { Platform } from '@caisson/workspace-composition';
import { distributionFacts } from '../packages/distributions.ts';
import type { PackagePlace } from '../packages/resolution.ts';
import { shellQuote, shellWords } from '../shell/shell-quote.ts';
import { harnessRoot } from './commands.ts';
import { type Harness, systemLibraries } from './harness.ts';
import { nodeFor, type Tarball } from './node.ts';

export interface HarnessInstall {
  readonly version: string;
  /** Ids of the catalog that must be there first. */
  readonly packages: readonly string[];
  readonly steps: readonly { readonly id: string; readonly run: string; readonly why: string }[];
}

export interface InstallOptions {
  readonly version?: string | undefined;
  readonly place: PackagePlace;
  readonly architecture: Platform['architecture'];
  /** Another than {@link harnessRoot}, for tests. */
  readonly root?: string | undefined;
}

/** A range or a tag would install something else next week. */
const exactVersion = /^\d{1,6}\.\d{1,6}\.\d{1,6}(?:-[0-9A-Za-z.-]{1,64})?$/;

/** Why this harness cannot be installed there, or nothing. Looks at nothing but what it is given. */
export function whyNoHarness(harness: Harness, options: Omit<InstallOptions, 'architecture'>): string | undefined {
  const { version = harness.defaultVersion, place } = options;
  const { title } = distributionFacts[place.distribution];
  if (!exactVersion.test(version))
    return `\`${version.slice(0, 40)}\` is not an exact version of ${harness.title}, such as ${harness.defaultVersion}`;
  const libraries = systemLibraries[place.distribution];
  const runs = harness.libraries.some((kind) => kind === 'static' || kind === libraries);
  if (!runs) return `the program of ${harness.title} finds no libraries to run with on ${title}`;
  if (nodeFor(place, harness.nodeMajor, 'amd64') === undefined)
    return `${harness.title} needs Node ${harness.nodeMajor}, which ${[title, place.release].filter(Boolean).join(' ')} lacks`;
  return undefined;
}

/** The steps that install a harness, or why it cannot be. */
export function installHarness(harness: Harness, options: InstallOptions): HarnessInstall | string {
  const why = whyNoHarness(harness, options);
  if (why !== undefined) return why;
  const { version = harness.defaultVersion, place, architecture, root = harnessRoot } = options;
  const node = nodeFor(place, harness.nodeMajor, architecture);
  if (node === undefined) return `there is no Node for ${architecture} machines that could install ${harness.title}`;
  const own = node.kind === 'registry';
  const install = {
    id: harness.id,
    run: installScript(harness, version, root, own),
    why: `${harness.title} ${version} from the npm registry`,
  };
  if (!own) return { version, packages: [...node.ids, 'ca-certificates'], steps: [install] };
  const packages = ['curl', 'ca-certificates'];
  const fetch = {
    id: 'node',
    run: [scriptHead(root), ...node.tarballs.map((tarball) => fetchLines(tarball, root))].join('\n'),
    why: `Node ${node.tarballs[0]?.version} to run it with; the distribution's own is too old or too large`,
  };
  if (harness.runsOnNode) return { version, packages, steps: [fetch, install] };
  // A program of its own needs Node no more once it is there: in one step, so that no layer keeps it.
  const once = {
    id: harness.id,
    run: [fetch.run, install.run, 'rm -rf "$root/node" "$root/npm"'].join('\n'),
    why: `${install.why}, by a Node ${node.tarballs[0]?.version} that does not stay`,
  };
  return { version, packages, steps: [once] };
}

function scriptHead(root: string): string {
  return ['set -eu', `root=${shellQuote(root)}`, 'mkdir -p "$root/bin"'].join('\n');
}

/** What is fetched is checked before it is unpacked. The registry may be another: builds behind a mirror say so. */
function fetchLines({ npmPackage, version, sha512, folder }: Tarball, root: string): string {
  const target = shellQuote(`${root}/${folder}`);
  return [
    `registry="\${npm_config_registry:-https://registry.npmjs.org}"`,
    `curl -fsSL --retry 3 -o "$root/fetched.tgz" "\${registry%/}/${npmPackage}/-/${npmPackage}-${version}.tgz"`,
    `printf '%s  %s\\n' ${sha512} "$root/fetched.tgz" | sha512sum -c - >/dev/null`,
    `mkdir -p ${target}`,
    `tar -xzf "$root/fetched.tgz" -C ${target} --strip-components=1 --no-same-owner`,
    'rm "$root/fetched.tgz"',
  ].join('\n');
}

/** A Node from elsewhere trusts its own list of authorities; here it also trusts what the system trusts. */
const ownNodeLines = [
  'PATH="$root/node/bin:$PATH"',
  'NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-/etc/ssl/certs/ca-certificates.crt}"',
  'export PATH NODE_EXTRA_CA_CERTS',
];

function installScript(harness: Harness, version: string, root: string, ownNode: boolean): string {
  const { npmPackage, command, id, runsOnNode } = harness;
  const npm = ownNode ? '"$root/node/bin/node" "$root/npm/bin/npm-cli.js"' : 'npm';
  const flags = ['--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error', '--omit=dev'];
  const node = ownNode ? '$root/node/bin/node' : '$(command -v node)';
  return [
    scriptHead(root),
    ...(ownNode ? ownNodeLines : []),
    `mkdir -p "$root/${id}"`,
    `${npm} install --prefix "$root/${id}" --cache "$root/npm-cache" ${shellWords([...flags, `${npmPackage}@${version}`])}`,
    'rm -rf "$root/npm-cache"',
    ...(runsOnNode
      ? [
          `printf '#!/bin/sh\\nexec "%s" "%s" "$@"\\n' "${node}" "$(readlink -f "$root/${id}/node_modules/.bin/${command}")" > "$root/bin/${command}"`,
          `chmod 755 "$root/bin/${command}"`,
        ]
      : [`ln -sf "../${id}/node_modules/.bin/${command}" "$root/bin/${command}"`]),
    // It runs, or it is not installed. What it writes at its first start is nobody's.
    'mkdir -p "$root/home"',
    `HOME="$root/home" "$root/bin/${command}" --version`,
    'rm -rf "$root/home"',
    ...(root === harnessRoot
      ? ['mkdir -p /usr/local/bin', `ln -sf "$root/bin/${command}" /usr/local/bin/${command}`]
      : []),
  ].join('\n');
}
