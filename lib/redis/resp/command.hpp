// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/detail/recycling_allocator.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis::resp
{

template <class T>
concept IntegerArgument = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

/** Arguments in their wire form. Encode once what many commands share (the keys of a pool), then `Command::add` copies
 *  bytes. */
class EncodedArguments
{
public:
    EncodedArguments& add(std::string_view argument) { return add_all(argument); }

    template <IntegerArgument T>
    EncodedArguments& add(T number)
    {
        return add_all(number);
    }

    /** Several in one go, which costs one growth: an append for each costs more than the bytes of short arguments. */
    template <class... Arguments>
    EncodedArguments& add_all(Arguments const&... arguments)
    {
        auto const most = (most_bytes(arguments) + ... + 0);
        std::array<char, most_on_stack> small;
        if (most <= small.size()) {
            bytes_.append(small.data(), put_all(small.data(), arguments...));
        } else {
            auto const before = bytes_.size();
            bytes_.resize(before + most); // which writes zeros first
            bytes_.resize(before + put_all(bytes_.data() + before, arguments...));
        }
        count_ += sizeof...(arguments);
        return *this;
    }

    EncodedArguments& add(EncodedArguments const& more)
    {
        bytes_.append(more.bytes_);
        count_ += more.count_;
        return *this;
    }

    void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
    [[nodiscard]] std::string_view bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

private:
    friend class Command;

    static constexpr std::size_t most_digits = 20;
    static constexpr std::size_t most_on_stack = 512;

    /** An argument is `$<length>\r\n<bytes>\r\n`. */
    static constexpr std::size_t most_bytes(std::string_view argument) noexcept
    {
        return argument.size() + most_digits + 5;
    }
    template <IntegerArgument T>
    static constexpr std::size_t most_bytes(T) noexcept
    {
        return 2 * most_digits + 5;
    }

    /** @returns how many bytes it wrote */
    template <class... Arguments>
    static std::size_t put_all(char* const begin, Arguments const&... arguments) noexcept
    {
        char* end = begin;
        ((end = put(end, arguments)), ...);
        return static_cast<std::size_t>(end - begin);
    }

    /** @returns the end of what it wrote */
    static char* put(char* to, std::string_view argument) noexcept
    {
        auto const size = argument.size();
        *to++ = '$';
        if (size < 10) {
            *to++ = static_cast<char>('0' + size);
        } else if (size < 100) {
            *to++ = static_cast<char>('0' + size / 10);
            *to++ = static_cast<char>('0' + size % 10);
        } else {
            to = std::to_chars(to, to + most_digits, size).ptr;
        }
        to = put_line_end(to);
        return put_line_end(to + argument.copy(to, size));
    }
    template <IntegerArgument T>
    static char* put(char* to, T number) noexcept
    {
        std::array<char, most_digits> digits{};
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        return put(to, std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
    }
    static char* put_line_end(char* to) noexcept
    {
        *to++ = '\r';
        *to++ = '\n';
        return to;
    }

    /// in blocks that are used again: a command lives for as long as its request
    std::basic_string<char, std::char_traits<char>, RecyclingAllocator<char>> bytes_;
    std::size_t count_ = 0;
};

/** One command, encoded as it is built: an array of bulk strings.
 *
 *  It has no printing and no way back to its arguments, because they may be secrets.
 */
class Command
{
public:
    /** What answers the command: one reply, or (for the subscribe family) one confirmation for each channel. */
    enum class Answer : std::uint8_t {
        reply,
        subscribe,
        psubscribe,
        ssubscribe,
        unsubscribe,
        punsubscribe,
        sunsubscribe
    };

    /** `Command("SET", key, owner, "PX", 5000)`. UNSUBSCRIBE and its kin must name their channels. */
    template <class... Arguments>
    explicit Command(std::string_view name, Arguments const&... arguments)
        : answer_(answer_to(name))
    {
        arguments_.add_all(name, arguments...);
    }

    Command(Command&&) noexcept = default;
    Command& operator=(Command&&) noexcept = default;
    Command(Command const&) = delete;
    Command& operator=(Command const&) = delete;
    ~Command() = default;

    Command& add(std::string_view argument)
    {
        arguments_.add(argument);
        return *this;
    }

    template <IntegerArgument T>
    Command& add(T number)
    {
        arguments_.add(number);
        return *this;
    }

    Command& add(EncodedArguments const& more)
    {
        arguments_.add(more);
        return *this;
    }

    /** Adds an argument that is not known before the command is written: the run id of the server process at the other
     * end of the connection (`set_run_id`). Until then it is all zeros. */
    Command& add_run_id()
    {
        arguments_.add(std::string_view("0000000000000000000000000000000000000000"));
        run_id_at_ = arguments_.bytes_.size() - 2 - run_id_size;
        return *this;
    }
    [[nodiscard]] bool wants_run_id() const noexcept { return run_id_at_ != 0; }
    /** @param run_id  of `run_id_size` bytes */
    void set_run_id(std::string_view run_id) { arguments_.bytes_.replace(run_id_at_, run_id_size, run_id); }
    static constexpr std::size_t run_id_size = 40;

    /** The same command once more, for a server that it may have to be sent to as well. */
    [[nodiscard]] Command copy() const { return Command(arguments_, reply_bytes_, run_id_at_, answer_); }

    /** Makes room for what will be added. */
    void reserve(std::size_t bytes) { arguments_.reserve(bytes); }

    /** The largest reply that is expected, in bytes on the wire, where that is more than the connection's limit. */
    Command& expect_reply_bytes(std::size_t bytes) noexcept
    {
        reply_bytes_ = bytes;
        return *this;
    }
    [[nodiscard]] std::size_t expected_reply_bytes() const noexcept { return reply_bytes_; }

    [[nodiscard]] Answer answer() const noexcept { return answer_; }

    /** How many replies or confirmations end the command. */
    [[nodiscard]] std::size_t expected_answers() const noexcept
    {
        return answer_ == Answer::reply || arguments_.count() < 2 ? 1 : arguments_.count() - 1;
    }

    /** The number of arguments, the name included. */
    [[nodiscard]] std::size_t size() const noexcept { return arguments_.count(); }

    /** The size of the encoded command. */
    [[nodiscard]] std::size_t encoded_size() const noexcept
    {
        return arguments_.bytes_.size() + 3 + digits_of(arguments_.count());
    }

    /** Appends the encoded command to `out`. */
    void append_to(std::string& out) const
    {
        std::array<char, 24> head{};
        head[0] = '*';
        char* const digits = std::to_chars(head.data() + 1, head.data() + head.size() - 2, arguments_.count()).ptr;
        digits[0] = '\r';
        digits[1] = '\n';
        out.append(head.data(), static_cast<std::size_t>(digits + 2 - head.data()));
        out.append(arguments_.bytes());
    }

    /** The encoded command, for tests and simulated servers. */
    [[nodiscard]] std::string encoded() const
    {
        std::string out;
        append_to(out);
        return out;
    }

    /** True if `argument` is one of the arguments after the name: which channel a confirmation belongs to. */
    [[nodiscard]] bool names(std::string_view argument) const noexcept;

    /** Forgets the bytes of a command that was written; what answers it is still known. */
    void forget_bytes() noexcept
    {
        arguments_.bytes_.clear();
        arguments_.bytes_.shrink_to_fit();
    }

private:
    Command(EncodedArguments arguments, std::size_t reply_bytes, std::size_t run_id_at, Answer answer)
        : arguments_(std::move(arguments))
        , reply_bytes_(reply_bytes)
        , run_id_at_(run_id_at)
        , answer_(answer)
    {
    }

    static constexpr std::size_t digits_of(std::size_t number) noexcept
    {
        std::size_t digits = 1;
        while (number >= 10) {
            number /= 10;
            ++digits;
        }
        return digits;
    }
    static Answer answer_to(std::string_view name) noexcept;

    EncodedArguments arguments_;
    /// 0: no more than the connection's limit
    std::size_t reply_bytes_ = 0;
    /// where the run id is in the arguments; 0: there is none
    std::size_t run_id_at_ = 0;
    Answer answer_;
};

} // namespace tenure::redis::resp
