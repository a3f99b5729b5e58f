import { describeOciThroughHttp } from './describe-oci-through-http.ts';

describeOciThroughHttp('crun');
describeOciThroughHttp('runsc');
