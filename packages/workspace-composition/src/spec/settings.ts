import type { WorkspaceBlueprint } from '../blueprint.ts';
import { defaultSshPort, dotfilesManagers, dotfilesTargets, harnessIds, loginShells } from '../vocabulary.ts';
import { reported } from './bounds.ts';
import { Fields, isObject, readChoice, shape } from './fields.ts';
import { commandRule, harnessProfileRule, secretRefRule, versionRule } from './names.ts';
import type { Problems } from './problems.ts';
import { portRule } from './ranges.ts';
import { reportWrongType } from './wrong-type.ts';

/** The small sections of a spec: who works in the sandbox, how it is reached, and how its home looks. */
type Harness = WorkspaceBlueprint['harness'];
type Ssh = WorkspaceBlueprint['access']['ssh'];
type Customization = WorkspaceBlueprint['customization'];

const harnessShape = shape('`harness`', 'id', 'profile', 'version');
const sshShape = shape('`ssh`', 'enabled', 'listenPort', 'authorizedKeysRef');
const customizationShape = shape(
  '`customization`',
  'shell',
  'dotfilesManager',
  'dotfilesTarget',
  'applyDotfiles',
  'dotfilesBootstrap',
  'bootstrapCommand',
);

export function readHarness(value: unknown, path: string, problems: Problems): Harness {
  if (value === undefined || value === reported) return { id: 'none' };
  if (typeof value === 'string') return { id: readChoice(value, path, harnessIds, problems) ?? 'none' };
  if (!isObject(value)) {
    reportWrongType(problems, path, value, 'a harness id or object');
    return { id: 'none' };
  }
  const fields = Fields.of(value, path, harnessShape, problems);
  const harness: Harness = { id: fields?.choice('id', harnessIds) ?? 'none' };
  fields?.require('id', 'A harness needs an `id`.');
  const profile = fields?.text('profile', harnessProfileRule);
  const version = fields?.text('version', versionRule);
  if (profile !== undefined) harness.profile = profile;
  if (version !== undefined) harness.version = version;
  return harness;
}

/** A port or keys without `enabled` mean that SSH is wanted; an explicit `enabled: false` stays off. */
export function readSsh(value: unknown, path: string, problems: Problems): Ssh {
  if (value === undefined || value === reported) return { enabled: false, listenPort: defaultSshPort };
  if (typeof value === 'boolean') return { enabled: value, listenPort: defaultSshPort };
  if (!isObject(value)) {
    reportWrongType(problems, path, value, 'true or false, or an object');
    return { enabled: false, listenPort: defaultSshPort };
  }
  const fields = Fields.of(value, path, sshShape, problems);
  const implied = value.listenPort !== undefined || value.authorizedKeysRef !== undefined;
  const ssh: Ssh = {
    enabled: fields?.flag('enabled') ?? implied,
    listenPort: fields?.number('listenPort', portRule) ?? defaultSshPort,
  };
  const authorizedKeysRef = fields?.text('authorizedKeysRef', secretRefRule);
  if (authorizedKeysRef !== undefined) ssh.authorizedKeysRef = authorizedKeysRef;
  return ssh;
}

export function readCustomization(value: unknown, path: string, problems: Problems): Customization {
  const fields = Fields.of(value, path, customizationShape, problems);
  const customization: Customization = {
    shell: fields?.choice('shell', loginShells) ?? 'bash',
    dotfilesManager: fields?.choice('dotfilesManager', dotfilesManagers) ?? 'auto',
    dotfilesTarget: fields?.choice('dotfilesTarget', dotfilesTargets) ?? 'home',
    applyDotfiles: fields?.flag('applyDotfiles') ?? true,
    dotfilesBootstrap: fields?.flag('dotfilesBootstrap') ?? true,
  };
  const bootstrapCommand = fields?.text('bootstrapCommand', commandRule);
  if (bootstrapCommand !== undefined) customization.bootstrapCommand = bootstrapCommand;
  return customization;
}
