import { describeEngineServer } from './describe-engine-server.ts';

/** The same driver on an engine that needs several times as long. */
describeEngineServer('podman');
