package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// serviceAccountPath is where a container looks for its service account. A container without a mount there
// has been denied the credentials, by its pod or its service account, and gets none here either.
const serviceAccountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// writeKubeconfig writes the kubeconfig that names the API server of the agent and the pod's own token.
func (s *Sandbox) writeKubeconfig() error {
	volume := s.serviceAccountVolume()
	if volume == "" {
		return nil
	}
	const name = "lab"
	config := api.NewConfig()
	config.Clusters[name] = &api.Cluster{
		Server:                   s.Server.Host,
		CertificateAuthority:     s.Server.CAFile,
		CertificateAuthorityData: s.Server.CAData,
	}
	config.AuthInfos[name] = &api.AuthInfo{
		TokenFile: filepath.Join(s.volume(volume), corev1.ServiceAccountTokenKey),
	}
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name, Namespace: s.pod.Namespace}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, s.kubeconfig()); err != nil {
		return fmt.Errorf("kubeconfig of the pod: %w", err)
	}
	return nil
}

// serviceAccountVolume returns the name of the volume with the pod's service account, "" if it has none.
func (s *Sandbox) serviceAccountVolume() string {
	for _, container := range slices.Concat(s.pod.Spec.InitContainers, s.pod.Spec.Containers) {
		for _, mount := range container.VolumeMounts {
			if mount.MountPath == serviceAccountPath {
				return mount.Name
			}
		}
	}
	return ""
}
