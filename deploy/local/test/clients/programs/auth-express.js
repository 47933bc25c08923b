import { ExpressAuth } from '@auth/express';
import express from 'express';
import { CLIENT_ID, CLIENT_SECRET, HOME_URL, ISSUER, serve } from './harness.js';

process.env.AUTH_URL = `${HOME_URL}/auth`;
const client = { issuer: ISSUER, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
const config = {
  secret: 'a secret of the program, 32 characters',
  trustHost: true,
  providers: [{ id: 'gatehouse', name: 'Gatehouse', type: 'oidc', ...client }],
  callbacks: {
    jwt: ({ token, profile }) => (profile ? { ...token, id: profile.sub } : token),
    session: ({ session, token }) => ({ ...session, id: token.id }),
    redirect: () => `${HOME_URL}/auth/session`,
  },
};
serve(express().use('/auth', ExpressAuth(config)), '/auth/signin');
