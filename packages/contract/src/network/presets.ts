/** A named list of entries: the hosts of one public service. */
export interface Preset {
  readonly description: string;
  readonly entries: readonly string[];
}

/** When the table was last looked through. Services move; what is missing is written as an entry beside the preset. */
export const presetsDate = '2026-11-15';

const web = (...hosts: string[]) => hosts.flatMap((host) => [`${host}:443`]);
/** Package mirrors of distributions: signed content, often fetched over plain HTTP. */
const mirror = (...hosts: string[]) => hosts.flatMap((host) => [`${host}:80`, `${host}:443`]);
/** Git over HTTPS and over SSH. */
const git = (...hosts: string[]) => hosts.flatMap((host) => [`${host}:22`, `${host}:443`]);

const table: Readonly<Record<string, Preset>> = {
  alpine: {
    description: 'packages of Alpine Linux',
    entries: mirror('dl-cdn.alpinelinux.org', 'dl-2.alpinelinux.org', 'dl-3.alpinelinux.org', 'dl-4.alpinelinux.org'),
  },
  anthropic: {
    description: 'the API of Anthropic, and what Claude Code signs in and updates with',
    entries: web(
      'api.anthropic.com',
      'console.anthropic.com',
      'platform.claude.com',
      'statsig.anthropic.com',
      'claude.ai',
      'downloads.claude.ai',
    ),
  },
  arch: {
    description: 'packages of Arch Linux',
    entries: mirror('geo.mirror.pkgbuild.com', 'archlinux.org', 'mirrors.kernel.org', 'mirror.rackspace.com'),
  },
  bitbucket: {
    description: 'repositories on Bitbucket',
    entries: [
      ...git('bitbucket.org', 'altssh.bitbucket.org'),
      ...web('api.bitbucket.org', 'bbuseruploads.s3.amazonaws.com'),
    ],
  },
  conda: {
    description: 'packages of Anaconda and conda-forge',
    entries: web('conda.anaconda.org', 'repo.anaconda.com', 'repo.continuum.io', 'anaconda.org', 'api.anaconda.org'),
  },
  crates: {
    description: 'crates and toolchains of Rust',
    entries: web('crates.io', 'index.crates.io', 'static.crates.io', 'static.rust-lang.org', 'sh.rustup.rs'),
  },
  debian: {
    description: 'packages of Debian',
    entries: mirror(
      'deb.debian.org',
      'security.debian.org',
      'ftp.debian.org',
      'httpredir.debian.org',
      'archive.debian.org',
      'snapshot.debian.org',
      'cdn-fastly.deb.debian.org',
    ),
  },
  docker: {
    description: 'images on Docker Hub, and packages of Docker',
    entries: web(
      'docker.io',
      'index.docker.io',
      'registry-1.docker.io',
      'auth.docker.io',
      'hub.docker.com',
      'production.cloudflare.docker.com',
      'docker-images-prod.6aa30f8b08e16409b46e0173d6de2f56.r2.cloudflarestorage.com',
      'download.docker.com',
    ),
  },
  fedora: {
    description: 'packages of Fedora',
    entries: mirror(
      'mirrors.fedoraproject.org',
      'dl.fedoraproject.org',
      'download.fedoraproject.org',
      'fedoraproject.org',
    ),
  },
  ghcr: {
    description: 'images on the registry of GitHub',
    entries: web('ghcr.io', 'pkg-containers.githubusercontent.com'),
  },
  github: {
    description: 'repositories, releases and the API of GitHub',
    entries: [
      ...git('github.com', 'ssh.github.com'),
      ...web(
        'api.github.com',
        'uploads.github.com',
        'codeload.github.com',
        'gist.github.com',
        'github-cloud.s3.amazonaws.com',
      ),
      '*.githubusercontent.com:443',
    ],
  },
  gitlab: {
    description: 'repositories, packages and images on GitLab.com',
    entries: [
      ...git('gitlab.com', 'altssh.gitlab.com'),
      ...web('registry.gitlab.com', 'cdn.registry.gitlab-static.net'),
    ],
  },
  golang: {
    description: 'modules and toolchains of Go',
    entries: web('proxy.golang.org', 'sum.golang.org', 'index.golang.org', 'go.dev', 'dl.google.com', 'golang.org'),
  },
  huggingface: {
    description: 'models and datasets on Hugging Face',
    entries: web('huggingface.co', '*.huggingface.co', 'hf.co', '*.hf.co'),
  },
  maven: {
    description: 'artifacts of Maven Central and Gradle',
    entries: web(
      'repo.maven.apache.org',
      'repo1.maven.org',
      'central.sonatype.com',
      'plugins.gradle.org',
      'plugins-artifacts.gradle.org',
      'services.gradle.org',
      'downloads.gradle.org',
    ),
  },
  nix: {
    description: 'packages of Nix',
    entries: web('cache.nixos.org', 'channels.nixos.org', 'releases.nixos.org', 'nixos.org'),
  },
  nodejs: {
    description: 'releases of Node.js',
    entries: web('nodejs.org'),
  },
  npm: {
    description: 'packages of npm and Yarn',
    entries: web('registry.npmjs.org', 'registry.yarnpkg.com', 'repo.yarnpkg.com'),
  },
  nuget: {
    description: 'packages of .NET',
    entries: web('api.nuget.org', 'www.nuget.org', 'globalcdn.nuget.org'),
  },
  openai: {
    description: 'the API of OpenAI, and what Codex signs in with',
    entries: web('api.openai.com', 'auth.openai.com', 'chatgpt.com'),
  },
  packagist: {
    description: 'packages of PHP',
    entries: web('packagist.org', 'repo.packagist.org', 'getcomposer.org'),
  },
  pypi: {
    description: 'packages of Python',
    entries: web('pypi.org', 'files.pythonhosted.org', 'pypi.python.org'),
  },
  rubygems: {
    description: 'packages of Ruby',
    entries: web('rubygems.org', 'index.rubygems.org'),
  },
  ubuntu: {
    description: 'packages of Ubuntu',
    entries: [
      ...mirror(
        'archive.ubuntu.com',
        '*.archive.ubuntu.com',
        'security.ubuntu.com',
        'ports.ubuntu.com',
        'old-releases.ubuntu.com',
      ),
      ...web('ppa.launchpadcontent.net', 'keyserver.ubuntu.com', 'api.launchpad.net'),
    ],
  },
};

/** Name → preset. A map, because the names that are looked up come from outside. */
export const presets: ReadonlyMap<string, Preset> = new Map(Object.entries(table));

export const presetNames: ReadonlySet<string> = new Set(presets.keys());
