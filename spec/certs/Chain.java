// SPDX-License-Identifier: Apache-2.0
import java.io.FileInputStream;
import java.security.KeyStore;
import java.security.cert.CertPathValidator;
import java.security.cert.CertificateFactory;
import java.security.cert.PKIXParameters;
import java.security.cert.TrustAnchor;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Set;

/** What a JVM says to our certificates: "chain CA LEAF…" by PKIX, "store FILE PASSWORD|-" by its trust store. */
class Chain {
	static List<X509Certificate> read(String path) throws Exception {
		try (FileInputStream in = new FileInputStream(path)) {
			return CertificateFactory.getInstance("X.509").generateCertificates(in).stream()
				.map(one -> (X509Certificate) one).toList();
		}
	}

	static void chain(String[] args) throws Exception {
		PKIXParameters rules = new PKIXParameters(Set.of(new TrustAnchor(read(args[1]).get(0), null)));
		rules.setRevocationEnabled(false);
		for (int i = 2; i < args.length; i++) {
			List<X509Certificate> path = read(args[i]);
			CertPathValidator.getInstance("PKIX").validate(
				CertificateFactory.getInstance("X.509").generateCertPath(path), rules);
			Collection<List<?>> names = path.get(0).getSubjectAlternativeNames();
			System.out.println("ok " + names.iterator().next().get(1));
		}
	}

	static void store(String[] args) throws Exception {
		KeyStore store = KeyStore.getInstance("JKS");
		try (FileInputStream in = new FileInputStream(args[1])) {
			store.load(in, args[2].equals("-") ? null : args[2].toCharArray());
		}
		System.out.println(store.size());
		for (String alias : java.util.Collections.list(store.aliases())) {
			X509Certificate cert = (X509Certificate) store.getCertificate(alias);
			if (!store.isCertificateEntry(alias))
				throw new IllegalStateException(alias);
			System.out.println(cert.getSerialNumber().toString(16));
		}
	}

	public static void main(String[] args) throws Exception {
		if (args[0].equals("chain"))
			chain(args);
		else
			store(args);
	}
}
