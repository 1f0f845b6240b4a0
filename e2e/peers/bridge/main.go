// Command bridge is a Matrix bridge on mautrix' bridgev2 with a network that lives in its memory, named signal unless
// BRIDGE_NETWORK says otherwise: tests play the people on it, and the phone, over HTTP on 127.0.0.1 (BRIDGE_CONTROL is
// the port).
package main

import (
	"maunium.net/go/mautrix/bridgev2/matrix/mxmain"
)

func main() {
	net := newNetwork()
	m := mxmain.BridgeMain{Name: "everthread-test-bridge", Description: "A bridge for tests.",
		Version: "0.1.0", Connector: net, URL: "https://github.com/everthread/everthread"}
	m.PostStart = net.control
	m.Run()
}
