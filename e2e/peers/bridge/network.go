package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.mau.fi/util/configupgrade"
	"maunium.net/go/mautrix/bridgev2"
	"maunium.net/go/mautrix/bridgev2/database"
	"maunium.net/go/mautrix/bridgev2/networkid"
	"maunium.net/go/mautrix/bridgev2/status"
	"maunium.net/go/mautrix/event"
)

// self is the owner of the phone, and so the account's own id.
const self = "00000000-aaaa-4000-8000-000000000001"

// sent is a message from the bridge to a person.
type sent struct {
	ID     string `json:"id"`
	To     string `json:"to"`
	Kind   string `json:"kind"` // text, edit, delete, read, typing, file
	Text   string `json:"text,omitempty"`
	Target string `json:"target,omitempty"`
	Name   string `json:"name,omitempty"` // of a file
	MIME   string `json:"mime,omitempty"`
	Data   []byte `json:"data,omitempty"`
}

// network is the network and its connector.
type network struct {
	bridge *bridgev2.Bridge

	mu    sync.Mutex
	login *bridgev2.UserLogin
	names map[string]string
	out   []sent
	next  int
	fail  []string // of the next messages: retriable, permanent
}

func newNetwork() *network { return &network{names: map[string]string{}} }

func (n *network) Init(b *bridgev2.Bridge)          { n.bridge = b }
func (n *network) Start(context.Context) error      { return nil }
func (n *network) GetBridgeInfoVersion() (int, int) { return 1, 1 }

// GetName returns the name of the network, BRIDGE_NETWORK or else signal.
func (n *network) GetName() bridgev2.BridgeName {
	id := cmp.Or(os.Getenv("BRIDGE_NETWORK"), "signal")
	return bridgev2.BridgeName{DisplayName: strings.ToUpper(id[:1]) + id[1:], NetworkURL: "https://" + id + ".example",
		NetworkID: id, BeeperBridgeType: id, DefaultPort: 29328, DefaultCommandPrefix: "!" + id}
}

func (n *network) GetDBMetaTypes() database.MetaTypes { return database.MetaTypes{} }

func (n *network) GetCapabilities() *bridgev2.NetworkGeneralCapabilities {
	return &bridgev2.NetworkGeneralCapabilities{}
}

func (n *network) GetConfig() (string, any, configupgrade.Upgrader) { return "", nil, nil }

func (n *network) LoadUserLogin(_ context.Context, l *bridgev2.UserLogin) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.login = l
	l.Client = &client{network: n, login: l}
	return nil
}

func (n *network) GetLoginFlows() []bridgev2.LoginFlow {
	return []bridgev2.LoginFlow{{ID: "qr", Name: "QR", Description: "Scans itself"}}
}

func (n *network) CreateLogin(_ context.Context, u *bridgev2.User, flow string) (bridgev2.LoginProcess, error) {
	if flow != "qr" {
		return nil, errors.New("there is only the flow qr")
	}
	return &process{network: n, user: u}, nil
}

// process is a login that succeeds immediately.
type process struct {
	network *network
	user    *bridgev2.User
}

func (p *process) Cancel() {}

func (p *process) Start(ctx context.Context) (*bridgev2.LoginStep, error) {
	l, err := p.user.NewLogin(ctx, &database.UserLogin{ID: self, RemoteName: "+15550001111"}, nil)
	if err != nil {
		return nil, err
	}
	l.Client.Connect(l.Log.WithContext(context.WithoutCancel(ctx)))
	return &bridgev2.LoginStep{Type: bridgev2.LoginStepTypeComplete, StepID: "everthread.test.complete",
		Instructions: "Logged in.", CompleteParams: &bridgev2.LoginCompleteParams{UserLoginID: l.ID, UserLogin: l}}, nil
}

// client is the account's connection to the network.
type client struct {
	network *network
	login   *bridgev2.UserLogin
}

var (
	_ bridgev2.NetworkAPI                    = (*client)(nil)
	_ bridgev2.EditHandlingNetworkAPI        = (*client)(nil)
	_ bridgev2.RedactionHandlingNetworkAPI   = (*client)(nil)
	_ bridgev2.ReadReceiptHandlingNetworkAPI = (*client)(nil)
	_ bridgev2.TypingHandlingNetworkAPI      = (*client)(nil)
)

func (c *client) Connect(context.Context) {
	c.login.BridgeState.Send(status.BridgeState{StateEvent: status.StateConnected})
}
func (c *client) Disconnect()                  {}
func (c *client) IsLoggedIn() bool             { return true }
func (c *client) LogoutRemote(context.Context) {}

func (c *client) IsThisUser(_ context.Context, id networkid.UserID) bool { return string(id) == self }

func (c *client) GetChatInfo(_ context.Context, p *bridgev2.Portal) (*bridgev2.ChatInfo, error) {
	id := string(p.ID)
	mine := bridgev2.ChatMember{EventSender: bridgev2.EventSender{IsFromMe: true, Sender: self, SenderLogin: self},
		Membership: event.MembershipJoin}
	members := []bridgev2.ChatMember{mine}
	kind := database.RoomTypeDM
	if group, ok := strings.CutPrefix(id, "group:"); ok {
		kind = database.RoomTypeDefault
		for _, m := range strings.Split(group, "+") {
			members = append(members, member(m))
		}
	} else {
		members = append(members, member(id))
	}
	list := &bridgev2.ChatMemberList{IsFull: true, Members: members}
	if kind == database.RoomTypeDM {
		list.OtherUserID = networkid.UserID(id)
	}
	return &bridgev2.ChatInfo{Members: list, Type: &kind}, nil
}

func member(id string) bridgev2.ChatMember {
	return bridgev2.ChatMember{EventSender: bridgev2.EventSender{Sender: networkid.UserID(id)},
		Membership: event.MembershipJoin}
}

func (c *client) GetUserInfo(_ context.Context, g *bridgev2.Ghost) (*bridgev2.UserInfo, error) {
	name := c.network.name(string(g.ID))
	return &bridgev2.UserInfo{Name: &name}, nil
}

func (c *client) GetCapabilities(context.Context, *bridgev2.Portal) *event.RoomFeatures {
	return &event.RoomFeatures{ID: "everthread.test", MaxTextLength: 2000, Edit: event.CapLevelFullySupported,
		EditMaxCount: 10, Delete: event.CapLevelFullySupported, Reply: event.CapLevelFullySupported,
		Reaction: event.CapLevelFullySupported, ReadReceipts: true, TypingNotifications: true,
		File: event.FileFeatureMap{event.MsgImage: {MimeTypes: map[string]event.CapabilitySupportLevel{"*/*": event.CapLevelFullySupported}, MaxSize: 100 << 20},
			event.MsgFile: {MimeTypes: map[string]event.CapabilitySupportLevel{"*/*": event.CapLevelFullySupported},
				MaxSize: 100 << 20},
			event.MsgAudio: {MimeTypes: map[string]event.CapabilitySupportLevel{"*/*": event.CapLevelFullySupported},
				MaxSize: 100 << 20}}}
}

// HandleMatrixMessage receives a message of the gateway.
func (c *client) HandleMatrixMessage(ctx context.Context,
	m *bridgev2.MatrixMessage) (*bridgev2.MatrixMessageResponse, error) {
	if err := c.network.failing(); err != nil {
		return nil, err
	}
	if n := len([]rune(m.Content.Body)); n > 2000 {
		return nil, fmt.Errorf("the text is too long: %d", n)
	}
	s := sent{To: string(m.Portal.ID), Kind: "text", Text: m.Content.Body}
	if m.Content.URL != "" || m.Content.File != nil {
		data, err := c.network.bridge.Bot.DownloadMedia(ctx, m.Content.URL, m.Content.File)
		if err != nil {
			return nil, fmt.Errorf("download: %w", err)
		}
		s.Kind, s.Name, s.Data, s.Text = "file", m.Content.GetFileName(), data, m.Content.GetCaption()
		if m.Content.Info != nil {
			s.MIME = m.Content.Info.MimeType
		}
	}
	if m.ReplyTo != nil {
		s.Target = string(m.ReplyTo.ID)
	}
	id := c.network.record(s)
	return &bridgev2.MatrixMessageResponse{DB: &database.Message{ID: networkid.MessageID(id), SenderID: self,
		Timestamp: time.Now()}}, nil
}

func (c *client) HandleMatrixEdit(_ context.Context, m *bridgev2.MatrixEdit) error {
	c.network.record(sent{To: string(m.Portal.ID), Kind: "edit", Text: m.Content.Body, Target: string(m.EditTarget.ID)})
	return nil
}

func (c *client) HandleMatrixMessageRemove(_ context.Context, m *bridgev2.MatrixMessageRemove) error {
	c.network.record(sent{To: string(m.Portal.ID), Kind: "delete", Target: string(m.TargetMessage.ID)})
	return nil
}

func (c *client) HandleMatrixReadReceipt(_ context.Context, m *bridgev2.MatrixReadReceipt) error {
	s := sent{To: string(m.Portal.ID), Kind: "read"}
	if m.ExactMessage != nil {
		s.Target = string(m.ExactMessage.ID)
	}
	c.network.record(s)
	return nil
}

func (c *client) HandleMatrixTyping(_ context.Context, m *bridgev2.MatrixTyping) error {
	if m.IsTyping {
		c.network.record(sent{To: string(m.Portal.ID), Kind: "typing"})
	}
	return nil
}

func (n *network) name(id string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if name := n.names[id]; name != "" {
		return name
	}
	return "Unknown user"
}

func (n *network) record(s sent) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next++
	s.ID = fmt.Sprintf("out-%d", n.next)
	n.out = append(n.out, s)
	return s.ID
}

// failing returns the failure of the next message, if any.
func (n *network) failing() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.fail) == 0 {
		return nil
	}
	kind := n.fail[0]
	n.fail = n.fail[1:]
	s := bridgev2.WrapErrorInStatus(errors.New("the network failed")).WithErrorAsMessage().WithIsCertain(
		true).WithSendNotice(true)
	if kind == "retriable" {
		return s.WithStatus(event.MessageStatusRetriable).WithErrorReason(event.MessageStatusNetworkError)
	}
	return s.WithStatus(event.MessageStatusFail).WithErrorReason(event.MessageStatusNetworkError)
}
