import axios from 'axios';
import { clientCredentials } from 'axios-oauth-client';
import { ISSUER, MACHINE_ID, MACHINE_SECRET, say } from './harness.js';

const getToken = clientCredentials(axios.create(), `${ISSUER}/oauth2/token`, MACHINE_ID, MACHINE_SECRET);
say('token', (await getToken('read:users')).access_token);
