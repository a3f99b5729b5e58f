import { describeEngineServer } from './describe-engine-server.ts';

describeEngineServer('docker');
