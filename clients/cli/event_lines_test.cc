#include "clients/cli/event_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/cli/terminal_text.h"

namespace docket::cli {
namespace {

TEST(EventLinesTest, NamesTypes) {
  EXPECT_EQ(EventTypeText(log::v1::EVENT_TYPE_TODO_WRITTEN), "todo_written");
  EXPECT_EQ(EventTypeText(static_cast<log::v1::EventType>(99)), "type 99");
  EXPECT_EQ(EventTypeOf("turn_started"), log::v1::EVENT_TYPE_TURN_STARTED);
  EXPECT_EQ(EventTypeOf("no_such_type"), log::v1::EVENT_TYPE_UNSPECIFIED);
  log::v1::SessionEvent event;
  EXPECT_EQ(TypeOf(event), log::v1::EVENT_TYPE_UNSPECIFIED);
  event.mutable_todo_rejected();
  EXPECT_EQ(TypeOf(event), log::v1::EVENT_TYPE_TODO_REJECTED);
}

TEST(EventLinesTest, SaysWhatAnEventSays) {
  log::v1::SessionEvent event;
  event.mutable_turn_started()->set_turn_id("t1");
  event.mutable_turn_started()->set_origin(docket::v1::TURN_ORIGIN_USER);
  EXPECT_EQ(EventText(event), "t1 (user)");
  event.mutable_message()->set_role(log::v1::MESSAGE_ROLE_ASSISTANT);
  event.mutable_message()->add_parts()->set_text("on\nit");
  event.mutable_message()->add_parts()->mutable_opaque()->set_kind("image/png");
  EXPECT_EQ(EventText(event), "assistant: on it [image/png]");
  event.mutable_todo_written();
  EXPECT_EQ(EventText(event), "empty plan");
  auto& item = *event.mutable_todo_written()->add_items();
  item.set_content("look");
  item.set_status(todo::v1::TODO_STATUS_COMPLETED);
  EXPECT_EQ(EventText(event), "✓ look");
  event.clear_event();
  EXPECT_EQ(EventText(event), "of a later version");
}

TEST(EventLinesTest, CutsAndCleansTexts) {
  log::v1::SessionEvent event;
  event.mutable_tool_result()->set_text("\x1b[31mred" + std::string(1000, 'x'));
  const std::string text = EventText(event);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_LE(TextWidth(text), 100);
}

}  // namespace
}  // namespace docket::cli
