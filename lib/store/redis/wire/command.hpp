// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/clock.hpp>
#include <tenure/key_range.hpp>

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::redis::resp
{

template <class T>
concept IntegerArgument = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

/** The key of a range at an index, as an argument without a separate string. */
struct KeyOf {
    KeyRange const& range;
    std::uint32_t index;
};

/** Arguments in wire form. Encode arguments that many commands share (the keys of a pool) once; `Command::add` then
 *  copies bytes. */
class EncodedArguments
{
public:
    /** Appends a text, an integer or a key. */
    template <class Argument>
    EncodedArguments& add(Argument const& argument)
    {
        return add_all(argument);
    }

    /** Appends several arguments with one growth of the buffer: separate appends cost more than the bytes of short
     *  arguments. */
    template <class... Arguments>
    EncodedArguments& add_all(Arguments const&... arguments)
    {
        append(most_of(arguments...), [&](char* to) { return put_all(to, arguments...); });
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
    friend class Transaction;

    /** @param most   bytes that may be written
     *  @param write  writes them and returns how many they were */
    template <class Write>
    void append(std::size_t most, Write write)
    {
        std::array<char, most_on_stack> small;
        if (most <= small.size()) {
            bytes_.append(small.data(), write(small.data()));
        } else {
            auto const before = bytes_.size();
            bytes_.resize(before + most); // which writes zeros first
            bytes_.resize(before + write(bytes_.data() + before));
        }
    }

    static constexpr std::size_t most_digits = 20;
    static constexpr std::size_t most_on_stack = 512;

    /** Size of an argument: `$<length>\r\n<bytes>\r\n`. */
    static constexpr std::size_t most_bytes(std::string_view argument) noexcept
    {
        return argument.size() + most_digits + 5;
    }
    static std::size_t most_bytes(KeyOf const& key) noexcept { return most_bytes(key.range.prefix) + most_digits; }
    template <IntegerArgument T>
    static constexpr std::size_t most_bytes(T) noexcept
    {
        return 2 * most_digits + 5;
    }

    template <class... Arguments>
    static std::size_t most_of(Arguments const&... arguments) noexcept
    {
        return (most_bytes(arguments) + ... + std::size_t{0});
    }

    /** @returns the number of bytes written */
    template <class... Arguments>
    static std::size_t put_all(char* const begin, Arguments const&... arguments) noexcept
    {
        char* end = begin;
        ((end = put(end, arguments)), ...);
        return static_cast<std::size_t>(end - begin);
    }

    /** @returns the end of the written bytes. Inlined, because constant arguments then become a copy of a few bytes */
    [[gnu::always_inline]] static char* put(char* to, std::string_view argument) noexcept
    {
        to = put_size('$', to, argument.size());
        return put_line_end(to + argument.copy(to, argument.size()));
    }
    [[gnu::always_inline]] static char* put_size(char kind, char* to, std::size_t size) noexcept
    {
        *to++ = kind;
        if (size < 10) {
            *to++ = static_cast<char>('0' + size);
        } else if (size < 100) {
            *to++ = static_cast<char>('0' + size / 10);
            *to++ = static_cast<char>('0' + size % 10);
        } else {
            to = std::to_chars(to, to + most_digits, size).ptr;
        }
        return put_line_end(to);
    }
    static char* put(char* to, KeyOf const& key) noexcept
    {
        auto const& [range, index] = key;
        std::array<char, most_digits> digits;
        auto const* const end =
            range.numbered ? std::to_chars(digits.data(), digits.data() + digits.size(), range.first + index).ptr
                           : digits.data();
        auto const size = static_cast<std::size_t>(end - digits.data());
        to = put_size('$', to, range.prefix.size() + size);
        to += range.prefix.copy(to, range.prefix.size());
        to += std::string_view(digits.data(), size).copy(to, size);
        return put_line_end(to);
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

    std::string bytes_;
    std::size_t count_ = 0;
};

/** Which of the requests a connection writes first when they have to wait for answers. Requests of equal urgency leave
 *  in the order in which they came. */
enum class Urgency : std::uint8_t {
    /// renewals: nothing that this process asks for may cost it a lease that it holds
    renewal,
    /// releases, withdrawals, and the later steps of claims that have begun
    step,
    /// the first steps of claims, and reads
    first
};

class Command;

/** Makes a command just before it is written, so that it contains only what is still wanted then. */
class LateCommand : public std::enable_shared_from_this<LateCommand>
{
public:
    LateCommand() = default;
    LateCommand(LateCommand const&) = delete;
    LateCommand& operator=(LateCommand const&) = delete;
    virtual ~LateCommand() = default;

    /** The command for what is still wanted; unset: nothing is. It is written at once, or after a redirect made again.
     *  Called on the strand; sends nothing and calls no handler. */
    [[nodiscard]] virtual std::optional<Command> compose(Instant now) = 0;

protected:
    /** A shared pointer to `self`, the object that calls this. */
    template <class Self>
    [[nodiscard]] static std::shared_ptr<Self> shared(Self& self)
    {
        return std::static_pointer_cast<Self>(self.shared_from_this());
    }
};

/** One command as an array of bulk strings, encoded while it is built. Or a whole transaction (see transaction.hpp),
 *  which is written, expires and is redirected as one command.
 *
 *  It gives no access to its arguments and cannot be printed, because they may be secrets. */
class Command
{
public:
    /** The expected answer: one reply, or (for the subscribe family) one confirmation per channel, or the replies to a
     *  transaction. */
    enum class Answer : std::uint8_t {
        reply,
        transaction,
        subscribe,
        psubscribe,
        ssubscribe,
        unsubscribe,
        punsubscribe,
        sunsubscribe
    };

    /** `Command("SET", key, owner, "PX", 5000)`. Commands of the UNSUBSCRIBE family must name their channels. */
    template <class... Arguments>
    explicit Command(std::string_view name, Arguments const&... arguments)
        : answer_(answer_to(name))
    {
        arguments_.bytes_.assign(empty_head);
        arguments_.add_all(name, arguments...);
        write_head();
    }

    /** Makes a command whose first arguments, including the name, are already encoded; not for the subscribe family. */
    template <class... Arguments>
    explicit Command(EncodedArguments const& first, Arguments const&... arguments)
        : answer_(Answer::reply)
    {
        arguments_.bytes_.reserve(empty_head.size() + first.bytes_.size() + EncodedArguments::most_of(arguments...));
        arguments_.bytes_.append(empty_head);
        arguments_.add(first);
        arguments_.add_all(arguments...);
        write_head();
    }

    /** Makes a command that is composed when it is written. */
    explicit Command(std::shared_ptr<LateCommand> late) noexcept
        : late_(std::move(late))
        , answer_(Answer::reply)
    {
    }

    Command(Command&&) noexcept = default;
    Command& operator=(Command&&) noexcept = default;
    Command& operator=(Command const&) = delete;
    ~Command() = default;

    template <class Argument>
    Command& add(Argument const& argument)
    {
        arguments_.add(argument);
        write_head();
        return *this;
    }

    /** Adds the run id of the server process, which is known only when the command is written (`set_run_id`). Until
     *  then it is all zeros. */
    Command& add_run_id()
    {
        add(std::string_view("0000000000000000000000000000000000000000"));
        run_id_at_ = arguments_.bytes_.size() - 2 - run_id_size;
        return *this;
    }
    [[nodiscard]] bool wants_run_id() const noexcept { return run_id_at_ != 0; }
    /** @param run_id  of `run_id_size` bytes */
    void set_run_id(std::string_view run_id) { arguments_.bytes_.replace(run_id_at_, run_id_size, run_id); }
    static constexpr std::size_t run_id_size = 40;

    /** A copy, for a server that the command may also have to be sent to. */
    [[nodiscard]] Command copy() const { return *this; }

    /** Reserves space for further arguments. */
    void reserve(std::size_t bytes) { arguments_.reserve(bytes); }

    /** Sets the largest expected reply in bytes on the wire, if it is more than the connection's limit. */
    Command& expect_reply_bytes(std::size_t bytes) noexcept
    {
        reply_bytes_ = bytes;
        return *this;
    }
    [[nodiscard]] std::size_t expected_reply_bytes() const noexcept { return reply_bytes_; }

    /** Promises that the next command follows in the same call; both leave in one write. */
    Command& leave_with_next() noexcept
    {
        leaves_with_next_ = true;
        return *this;
    }
    [[nodiscard]] bool leaves_with_next() const noexcept { return leaves_with_next_; }

    Command& set_urgency(Urgency urgency) noexcept
    {
        urgency_ = urgency;
        return *this;
    }
    [[nodiscard]] Urgency urgency() const noexcept { return urgency_; }

    /** Ends the command as not sent if the connection is lost before it is written, instead of waiting for the next
     *  connection. */
    Command& need_connection() noexcept
    {
        needs_connection_ = true;
        return *this;
    }
    [[nodiscard]] bool needs_connection() const noexcept { return needs_connection_; }

    /** Composes a late command; no effect on others. False: nothing of it is still wanted. */
    [[nodiscard]] bool compose(Instant now) { return late_ == nullptr || compose_late(now); }

    [[nodiscard]] Answer answer() const noexcept { return answer_; }

    /** The number of commands between MULTI and EXEC; 0: not a transaction. */
    [[nodiscard]] std::size_t transaction_size() const noexcept { return transaction_size_; }

    /** The number of replies or confirmations that complete the command. */
    [[nodiscard]] std::size_t expected_answers() const noexcept
    {
        if (answer_ == Answer::transaction)
            return transaction_size_ + 2;
        return answer_ == Answer::reply || arguments_.count() < 2 ? 1 : arguments_.count() - 1;
    }

    /** The number of arguments, including the name. */
    [[nodiscard]] std::size_t size() const noexcept { return arguments_.count(); }

    /** The size of the encoded command. */
    [[nodiscard]] std::size_t encoded_size() const noexcept { return arguments_.bytes_.size(); }

    /** Appends the encoded command to `out`. */
    void append_to(std::string& out) const { out.append(arguments_.bytes()); }

    /** The encoded command, for tests and simulated servers. */
    [[nodiscard]] std::string encoded() const { return std::string(arguments_.bytes()); }

    /** True if `argument` is one of the arguments after the name, such as the channel of a confirmation. */
    [[nodiscard]] bool names(std::string_view argument) const noexcept;

private:
    friend class Transaction;

    /** @param transaction  bytes of MULTI, of the commands, and of EXEC */
    Command(EncodedArguments&& transaction, std::uint32_t commands) noexcept
        : arguments_(std::move(transaction))
        , transaction_size_(commands)
        , answer_(Answer::transaction)
    {
    }

    Command(Command const&) = default;

    /** Writes the number of arguments into the head: `*<count>\r\n`. */
    void write_head()
    {
        auto const count = arguments_.count();
        if (count < 10 && head_size_ == empty_head.size())
            arguments_.bytes_[1] = static_cast<char>('0' + count);
        else
            widen_head();
    }
    void widen_head();
    [[nodiscard]] bool compose_late(Instant now);

    static Answer answer_to(std::string_view name) noexcept;

    static constexpr std::string_view empty_head = "*0\r\n";

    /// including the head of the command
    EncodedArguments arguments_;
    std::size_t head_size_ = empty_head.size();
    /// 0: the connection's limit
    std::size_t reply_bytes_ = 0;
    /// position of the run id in the bytes; 0: no run id
    std::size_t run_id_at_ = 0;
    /// null: the command is complete
    std::shared_ptr<LateCommand> late_;
    /// 0: not a transaction
    std::uint32_t transaction_size_ = 0;
    Answer answer_;
    Urgency urgency_ = Urgency::first;
    bool leaves_with_next_ = false;
    bool needs_connection_ = false;
};

} // namespace tenure::redis::resp
