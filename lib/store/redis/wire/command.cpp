// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Encoder of commands.
#include "command.hpp"

#include <array>
#include <utility>

namespace tenure::redis::resp
{

namespace
{

bool same_word(std::string_view word, std::string_view upper) noexcept
{
    if (word.size() != upper.size())
        return false;
    for (std::size_t i = 0; i < word.size(); ++i) {
        char const letter = word[i] >= 'a' && word[i] <= 'z' ? static_cast<char>(word[i] - 'a' + 'A') : word[i];
        if (letter != upper[i])
            return false;
    }
    return true;
}

} // namespace

Command::Answer Command::answer_to(std::string_view name) noexcept
{
    // all subscribe commands have at least this length; almost every other command is shorter
    if (name.size() < std::string_view("SUBSCRIBE").size())
        return Answer::reply;
    constexpr std::pair<std::string_view, Answer> family[] = {
        {"SUBSCRIBE", Answer::subscribe},       {"PSUBSCRIBE", Answer::psubscribe},
        {"SSUBSCRIBE", Answer::ssubscribe},     {"UNSUBSCRIBE", Answer::unsubscribe},
        {"PUNSUBSCRIBE", Answer::punsubscribe}, {"SUNSUBSCRIBE", Answer::sunsubscribe},
    };
    for (auto const& [word, answer] : family)
        if (same_word(name, word))
            return answer;
    return Answer::reply;
}

void Command::widen_head()
{
    std::array<char, EncodedArguments::most_digits + 3> head;
    auto const* const end = EncodedArguments::put_size('*', head.data(), arguments_.count());
    auto const size = static_cast<std::size_t>(end - head.data());
    arguments_.bytes_.replace(0, head_size_, head.data(), size);
    if (run_id_at_ != 0)
        run_id_at_ += size - head_size_;
    head_size_ = size;
}

bool Command::compose_late(Instant now)
{
    auto made = late_->compose(now);
    if (!made)
        return false;
    made->late_ = std::move(late_);
    made->urgency_ = urgency_;
    made->leaves_with_next_ = leaves_with_next_;
    made->needs_connection_ = needs_connection_;
    *this = std::move(*made);
    return true;
}

bool Command::names(std::string_view argument) const noexcept
{
    // walks bytes that this class has encoded, so only the end is checked
    auto rest = std::string_view(arguments_.bytes_).substr(head_size_);
    for (bool first = true; !rest.empty(); first = false) {
        std::size_t length = 0;
        std::size_t at = 1;
        for (; rest[at] != '\r'; ++at)
            length = length * 10 + static_cast<std::size_t>(rest[at] - '0');
        if (!first && rest.substr(at + 2, length) == argument)
            return true;
        rest.remove_prefix(at + 2 + length + 2);
    }
    return false;
}

} // namespace tenure::redis::resp
