package whatsapp

import (
	"fmt"
	"testing"
	"time"

	"github.com/everthread/everthread/adapters/whatsapp/whatsapptest"
	"github.com/everthread/everthread/core"
)

// received normalises a message with more fields, as JSON.
func received(t *testing.T, fields string) core.Inbound {
	t.Helper()
	raw := fmt.Sprintf(`{"entry":[{"changes":[{"field":"messages","value":{"metadata":{"phone_number_id":%q,
		"display_phone_number":"15550783881"},"messages":[{"from":"16505551234","id":"wamid.A","timestamp":"1790000000",%s}]}}]}]}`,
		whatsapptest.PhoneNumberID, fields)
	in := read(whatsapptest.PhoneNumberID, []byte(raw), time.Unix(1790000999, 0)).in
	if len(in) != 1 {
		t.Fatalf("%s: %d events", fields, len(in))
	}
	return in[0]
}

func TestMessage_everyType(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]struct {
		text    string
		foreign bool
	}{
		`"type":"text","text":{"body":"hi"}`:                                                         {"hi", false},
		`"type":"image","image":{"id":"1","caption":"Look"}`:                                         {"[photo: Look]", false},
		`"type":"video","video":{"id":"1"}`:                                                          {"[video]", false},
		`"type":"audio","audio":{"id":"1","voice":true}`:                                             {"[voice]", false},
		`"type":"document","document":{"id":"1","filename":"a.pdf"}`:                                 {"[document a.pdf]", false},
		`"type":"sticker","sticker":{"id":"1"}`:                                                      {"[sticker]", false},
		`"type":"location","location":{"latitude":37.44,"longitude":-122.16}`:                        {"[location 37.44000,-122.16000]", false},
		`"type":"location","location":{"latitude":1,"longitude":2,"name":"Cafe","address":"Main 1"}`: {"[venue Cafe, Main 1, 1.00000,2.00000]", true},
		`"type":"contacts","contacts":[{"name":{"formatted_name":"Lucía"},"org":{"company":"X"},"phones":[{"phone":"+1 2"}],"emails":[{"email":"l@x.org"}],"addresses":[{"street":"Main 1","city":"Berlin"}],"birthday":"1990-01-02"},{"name":{"first_name":"Tom"}}]`: {
			"[contact Lucía +1 2, l@x.org, Main 1 Berlin, X, 1990-01-02]\n[contact Tom]", true},
		`"type":"interactive","interactive":{"type":"button_reply","button_reply":{"id":"more","title":"More"}}`: {"More", false},
		`"type":"interactive","interactive":{"type":"list_reply","list_reply":{"id":"1","title":"Basic","description":"5 EUR a month"}}`: {
			"Basic: 5 EUR a month", false},
		`"type":"interactive","interactive":{"type":"nfm_reply","nfm_reply":{"name":"flow","body":"Sent","response_json":"{\"rating\":\"good\",\"days\":[\"Mon\",\"Tue\"],\"n\":12345678901234567,\"flow_token\":\"t\"}"}}`: {
			"[answers in flow: rating: good; days: Mon, Tue; n: 12345678901234567]", true},
		`"type":"interactive","interactive":{"type":"nfm_reply","nfm_reply":{"name":"address_message","body":"Main 1","response_json":"?"}}`: {
			"[answers in address_message: Main 1 ?]", true},
		`"type":"interactive","interactive":{"type":"call_permission_reply","call_permission_reply":{}}`: {
			"[unsupported: call_permission_reply]", true},
		`"type":"order","order":{"catalog_id":"c","text":"please gift-wrap","product_items":[{"product_retailer_id":"sku-1","quantity":2,"item_price":5.5,"currency":"EUR"}]}`: {
			"[order: 2 × sku-1 at 5.5 EUR – together 11 EUR]\nplease gift-wrap", true},
		`"type":"order","order":{"product_items":[{"product_retailer_id":"a","quantity":1,"item_price":"?"}]}`: {
			"[unsupported: order]", true},
		`"type":"button","button":{"payload":"P","text":"Read"}`: {"Read", false},
		`"type":"text","text":{"body":"info?"},"referral":{"headline":"Chat with us","body":"20% off","source_url":"https://fb.me/x"}`: {
			"info?\n[came from an advertisement: Chat with us 20% off https://fb.me/x]", true},
		`"type":"text","text":{"body":"is it blue?"},"context":{"referred_product":{"catalog_id":"c","product_retailer_id":"sku-7"}}`: {
			"is it blue?\n[about the product sku-7]", true},
		`"type":"unsupported","unsupported":{"type":"poll_creation"},"errors":[{"code":131051}]`: {"[unsupported: poll_creation]", true},
		`"type":"unsupported","errors":[{"code":131052,"title":"Media download error","error_data":{"details":"Over 100 MB"}}]`: {
			"[unsupported: a file that WhatsApp did not hand over: Over 100 MB]", true},
		`"type":"hologram","hologram":{}`: {"[unsupported: hologram]", true},
	} {
		in := received(t, fields)
		if in.Kind != core.InMessage || in.Text != want.text || in.Tainted != want.foreign {
			t.Errorf("%s:\ngot  %s %q, foreign %t\nwant %q, foreign %t", fields, in.Kind, in.Text, in.Tainted, want.text,
				want.foreign)
		}
	}
}
